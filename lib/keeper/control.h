// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/base/time.h"
#include "lib/lock/lock_session.h"

namespace dlock {

/// Messages of the supervisor to a keeper that is busy with a server. Every wait of a keeper polls it too, so that
/// a withdraw, a release or the supervisor's death ends the wait at once. Single-threaded.
class Control {
 public:
  virtual ~Control() = default;

  /// Appends what to poll for.
  virtual void add_interest(std::vector<pollfd>& fds) const = 0;

  /// Reads messages without blocking. True as soon as one ends the present work: a withdraw, a release, a detach, or
  /// the supervisor's end. Stays true until the loop has dealt with it.
  virtual bool stop_requested() = 0;

  /// True once for each "who": answer it with tell(Waiting).
  virtual bool take_who() = 0;

  /// Asks these holders of the lock that is waited for to end (LockAdmin::revoke); gives up at `until`.
  virtual Result<void> revoke(const LockState& shown, const std::string& by, TimePoint until);

  /// Never waits. A supervisor that does not read may miss what only matters now (Renewed, Unrenewed, Waiting,
  /// Unreached, Reached); everything else it finds when it reads again, in this order.
  virtual void tell(const SessionEvent& event) = 0;
};

/// For a lock that is kept without a supervisor: no questions come, and messages go nowhere.
class NoControl final : public Control {
 public:
  void add_interest(std::vector<pollfd>& /*fds*/) const override {}
  bool stop_requested() override { return false; }
  bool take_who() override { return false; }
  void tell(const SessionEvent& /*event*/) override {}
};

/// Waits for the time. False as soon as `control` (may be nullptr) wants an end.
inline bool rest(Clock& clock, TimePoint until, Control* control) {
  while (!control || !control->stop_requested()) {
    if (clock.now() >= until) return true;
    std::vector<pollfd> fds;
    if (control) control->add_interest(fds);
    clock.wait(fds, until);
  }
  return false;
}

}  // namespace dlock
