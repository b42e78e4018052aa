// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "lib/base/result.h"
#include "lib/base/time.h"

namespace dlock {

/// Finds the reason to report for attempts that are repeated until a deadline: the error of the last attempt that the
/// deadline did not cut short, which tells more than "no answer in time". Single-threaded.
class LastReason {
 public:
  explicit LastReason(TimePoint until) : until_(until) {}

  /// Notes an attempt that has failed with `error` at `now`. nullopt: there is time for another one; else the reason.
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
