// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

namespace dlock {

using Duration = std::chrono::nanoseconds;

/// CLOCK_BOOTTIME: monotonic, and suspended time counts. Every deadline is a point on this clock, made once and handed
/// down. (std::chrono::steady_clock is CLOCK_MONOTONIC, which stands still while the machine sleeps.)
struct BootClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
};
using TimePoint = BootClock::time_point;

/// Wall-clock time: for showing to people and for a token's lower bound, never for deciding who holds a lock.
using WallTime = std::chrono::sys_time<std::chrono::microseconds>;

/// The earlier of two optional points; nullopt means never.
inline std::optional<TimePoint> earlier(std::optional<TimePoint> a, std::optional<TimePoint> b) {
  if (!a) return b;
  if (!b) return a;
  return *a < *b ? a : b;
}

}  // namespace dlock
