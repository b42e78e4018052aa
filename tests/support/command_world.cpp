// SPDX-License-Identifier: Apache-2.0
#include "tests/support/command_world.h"

namespace dlock {

WallTime LeapingClock::wall() const {
  using namespace std::chrono;
  return WallTime(sys_days(year(2026) / 2 / 3)) + hours(4) + minutes(5) + seconds(6) + milliseconds(789) +
         duration_cast<microseconds>(now_ - TimePoint());
}

void LeapingClock::wait(std::vector<pollfd>& fds, std::optional<TimePoint> until) {
  poll(fds.data(), fds.size(), 0);
  if (until && *until > now_) now_ = *until;
}

std::string drain_terminal(const UniqueFd& master, UniqueFd& slave) {
  slave.reset();
  std::string all;
  char chunk[4096];
  for (ssize_t n = 0; (n = read(master.get(), chunk, sizeof chunk)) > 0;)
    all.append(chunk, static_cast<std::size_t>(n));
  return all;
}

std::string CommandWorld::said() const {
  std::string text(static_cast<std::size_t>(lseek(err.get(), 0, SEEK_CUR)), '\0');
  const ssize_t n = pread(err.get(), text.data(), text.size(), 0);
  return text.substr(0, n < 0 ? 0 : static_cast<std::size_t>(n));
}

}  // namespace dlock
