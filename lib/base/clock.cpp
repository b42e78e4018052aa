// SPDX-License-Identifier: Apache-2.0
#include "lib/base/clock.h"

#include <sys/timerfd.h>
#include <time.h>

namespace dlock {
namespace {

Duration read_clock(clockid_t id) {
  timespec ts{};
  clock_gettime(id, &ts);
  return std::chrono::seconds(ts.tv_sec) + std::chrono::nanoseconds(ts.tv_nsec);
}

/// A poll timeout stands still while the machine sleeps. For so short a wait that costs less than a timer's descriptor.
constexpr Duration kShort = std::chrono::milliseconds(250);

}  // namespace

TimePoint SystemClock::now() const { return TimePoint(read_clock(CLOCK_BOOTTIME)); }

WallTime SystemClock::wall() const {
  return WallTime(std::chrono::duration_cast<std::chrono::microseconds>(read_clock(CLOCK_REALTIME)));
}

void SystemClock::wait(std::vector<pollfd>& fds, std::optional<TimePoint> until) {
  if (!until) {
    poll(fds.data(), fds.size(), -1);
    return;
  }
  const Duration left = *until - now();
  if (left <= Duration::zero()) {
    poll(fds.data(), fds.size(), 0);
    return;
  }
  if (left <= kShort) {
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    poll(fds.data(), fds.size(), static_cast<int>(ms));
    return;
  }
  if (!timer_.valid()) timer_ = UniqueFd(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  const auto at = until->time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at);
  itimerspec spec{};
  spec.it_value.tv_sec = seconds.count();
  spec.it_value.tv_nsec = (at - seconds).count();
  if (!timer_.valid() || timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &spec, nullptr) != 0) {
    // Out of descriptors: a short poll still comes back in time, only more often.
    poll(fds.data(), fds.size(), 10);
    return;
  }
  fds.push_back({timer_.get(), POLLIN, 0});
  poll(fds.data(), fds.size(), -1);
  fds.pop_back();
}

}  // namespace dlock
