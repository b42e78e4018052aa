// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <optional>
#include <vector>

#include "lib/base/time.h"
#include "lib/base/unique_fd.h"

namespace dlock {

/// Reads the time and waits. Both are one object, so that a test's clock can let hours pass at once. Not thread-safe:
/// one clock for each loop.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const = 0;
  virtual WallTime wall() const = 0;

  /// Returns when one of `fds` is ready (revents is set) or `until` has come; nullopt waits for ever. May return early
  /// for no reason. Never fails: an interrupted or impossible wait is an early return.
  virtual void wait(std::vector<pollfd>& fds, std::optional<TimePoint> until) = 0;

  /// Waits for nothing but the time.
  void sleep_until(TimePoint until) {
    std::vector<pollfd> nothing;
    while (now() < until) wait(nothing, until);
  }
};

/// The machine's own clock. Waits of more than 250 ms use a timerfd on CLOCK_BOOTTIME (a poll timeout stands still
/// during suspend), made on the first timed wait.
class SystemClock final : public Clock {
 public:
  TimePoint now() const override;
  WallTime wall() const override;
  void wait(std::vector<pollfd>& fds, std::optional<TimePoint> until) override;

 private:
  UniqueFd timer_;
};

/// Nearly every answer of a server comes within this time, and SystemClock needs no timer for a wait that short. So a
/// wait for an answer first lasts until then at most, and only if none has come for the rest of its time.
inline constexpr Duration kSoonAnswered = std::chrono::milliseconds(200);

}  // namespace dlock
