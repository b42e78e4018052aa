// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "lib/base/time.h"
#include "lib/lock/lock_spec.h"

namespace dlock {

/// When to renew, and when to stop believing; pure (guarantees in man 7 dlock). The next renewal is due renew_interval
/// after the confirmed one went out; after an unknown outcome renewal_retry(lease) after the attempt began. A store
/// that gives less than the ttl is asked so much more often. A lock that has no deadline is never over.
class RenewalSchedule {
 public:
  /// `lease`: as in Granted; 0: the ttl.
  RenewalSchedule(const LockSpec& spec, TimePoint granted_at, std::optional<TimePoint> deadline,
                  Duration lease = Duration(0));

  std::optional<TimePoint> deadline() const { return deadline_; }
  TimePoint due() const { return due_; }

  /// When an attempt that begins now gives up: after max(100 ms, lease / 6), never after the deadline.
  TimePoint gives_up_at(TimePoint now) const;

  /// `began`: when the renewal that was confirmed began; it went out then or later.
  void renewed(TimePoint began, TimePoint now, TimePoint deadline);
  void held(TimePoint now);
  void unknown(TimePoint began, std::string why);
  void hasten(TimePoint now) { due_ = std::min(due_, now); }

  /// The deadline has passed without a renewal: why nothing is believed any more.
  std::optional<std::string> over(TimePoint now) const;
  std::string why(TimePoint now) const;

 private:
  void confirmed(TimePoint sent);

  Duration lease_;  ///< how long it is after each renewal
  Duration interval_;
  TimePoint due_;
  TimePoint confirmed_;
  std::optional<TimePoint> deadline_;
  std::string last_failure_;
};

}  // namespace dlock
