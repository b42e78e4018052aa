// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/shared_alarm.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace dlock {

std::optional<SharedAlarm> SharedAlarm::make(Duration before) {
  return open(UniqueFd(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)), before);
}

std::optional<SharedAlarm> SharedAlarm::open(UniqueFd descriptor, Duration before) {
  itimerspec spec{};
  if (timerfd_gettime(descriptor.get(), &spec) != 0) return std::nullopt;
  return SharedAlarm(std::move(descriptor), before);
}

bool SharedAlarm::set(TimePoint deadline) {
  const Duration at = std::max((deadline - before_).time_since_epoch(), Duration(1));  // 0 would switch it off
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at);
  itimerspec spec{};
  spec.it_value.tv_sec = seconds.count();
  spec.it_value.tv_nsec = (at - seconds).count();
  return timerfd_settime(fd_.get(), TFD_TIMER_ABSTIME, &spec, nullptr) == 0;
}

bool SharedAlarm::has_rung() {
  std::uint64_t times = 0;
  return read(fd_.get(), &times, sizeof times) == sizeof times;
}

}  // namespace dlock
