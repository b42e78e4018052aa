// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connection/waiting.h"

#include <algorithm>

namespace dlock::mysql {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLongSilence = 600s;
constexpr Duration kAliveBudget = 1s;
constexpr std::int64_t kYear = 31536000;  ///< s

/// Not where the server has forgotten us, or hangs: a place in another queue is worth more then. One that lets no
/// client else in may still have us.
bool still_waits(const Servers& servers, std::uint64_t id, Clock& clock) {
  Servers beside = servers.beside();
  return beside.is_live_session(id, clock.now() + kAliveBudget) || beside.has_refused();
}

}  // namespace

int wait_seconds(std::optional<TimePoint> until, TimePoint now) {
  if (!until) return static_cast<int>(kYear);
  return static_cast<int>(
      std::clamp<std::int64_t>(std::chrono::ceil<std::chrono::seconds>(*until - now).count(), 0, kYear));
}

Waited wait_on_server(Acquisition& acquisition, Servers& servers, Clock& clock, std::uint64_t id,
                      std::optional<TimePoint> until, Control& control) {
  Database* database = servers.current();
  std::optional<Outcome> outcome;
  const auto has_come = [&] {
    outcome = database->outcome();
    return outcome.has_value();
  };
  const auto sleep = [&](std::optional<TimePoint> end) {
    std::vector<pollfd> fds;
    control.add_interest(fds);
    database->add_interest(fds);
    clock.wait(fds, end);
  };
  while (!acquisition.wait_on({has_come, sleep}, earlier(clock.now() + kLongSilence, until), control)) {
    const bool over = control.stop_requested() || acquisition.is_given_up() || (until && clock.now() >= *until);
    if (over || !still_waits(servers, id, clock)) break;
  }
  if (!outcome) database->abandon();
  const bool went_on = database->went_on();
  if (!outcome) servers.end_session(id);
  return {std::move(outcome), went_on};
}

}  // namespace dlock::mysql
