// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "lib/base/result.h"
#include "lib/base/time.h"

namespace dlock {

/// Why something that is asked again and again until a moment was not confirmed by then: what the last attempt failed
/// of that this moment did not cut short, which tells more than "no answer in time". Single-threaded.
class LastReason {
 public:
  explicit LastReason(TimePoint until) : until_(until) {}

  /// An attempt has failed, and ended at `now`: nullopt if there is time for another one, else the reason.
  std::optional<Error> failed(const Error& error, TimePoint now) {
    const bool in_time = now < until_;
    if (in_time || !reason_) reason_ = error;
    return in_time ? std::nullopt : reason_;
  }

 private:
  const TimePoint until_;
  std::optional<Error> reason_;
};

}  // namespace dlock
