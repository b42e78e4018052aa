// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connection/waiting.h"

#include <algorithm>

#include "backends/mysql/connection/errors.h"
#include "backends/mysql/connection/schema.h"

namespace dlock::mysql {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLongSilence = 600s;
constexpr Duration kAliveBudget = 1s;
constexpr Duration kChangeLook = 5s;
constexpr Duration kChangeBudget = 3s;
constexpr std::int64_t kYear = 31536000;  ///< s

/// Not where the server has forgotten us, or hangs: a place in another queue is worth more then. One that lets no
/// client else in may still have us.
bool still_waits(const Servers& servers, std::uint64_t id, Clock& clock) {
  Servers beside = servers.beside();
  const auto lives = beside.is_live_session(id, clock.now() + kAliveBudget);
  return lives ? *lives : lives.error().outage == Outage::kRefused;
}

/// Who waits for a row may be about to write, to the server: whoever makes it read-only, for a switch-over or a backup,
/// waits for that, and all that would write wait for him.
bool refuses_changes(const Servers& servers, Clock& clock, Control& control) {
  Servers beside = servers.beside();
  const TimePoint until = clock.now() + kChangeBudget;
  const auto database = beside.connect(until, &control);
  if (!database) return false;
  const AnswerOrFailure outcome = ask(**database, kChangeNothing, clock, until, &control);
  const auto* failure = std::get_if<Failure>(&outcome);
  return failure && (is_locked_row(failure->code) || is_read_only(failure->code));
}

}  // namespace

int wait_seconds(std::optional<TimePoint> until, TimePoint now) {
  if (!until) return static_cast<int>(kYear);
  return static_cast<int>(
      std::clamp<std::int64_t>(std::chrono::ceil<std::chrono::seconds>(*until - now).count(), 0, kYear));
}

Waited wait_on_server(Acquisition& acquisition, Servers& servers, Clock& clock, std::uint64_t id,
                      std::optional<TimePoint> until, Control& control, WaitsFor what) {
  Database* database = servers.current();
  std::optional<AnswerOrFailure> outcome;
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
  const bool row = what == WaitsFor::kRow;
  TimePoint heard = clock.now();
  while (!acquisition.wait_on({has_come, sleep}, earlier(clock.now() + (row ? kChangeLook : kLongSilence), until),
                              control)) {
    const bool over = control.stop_requested() || acquisition.is_given_up() || (until && clock.now() >= *until);
    if (over || (row && refuses_changes(servers, clock, control))) break;
    if (clock.now() < heard + kLongSilence) continue;
    if (!still_waits(servers, id, clock)) break;
    heard = clock.now();
  }
  if (!outcome) database->close();
  const bool went_on = database->went_on();
  if (!outcome) servers.end_session(id);
  return {std::move(outcome), went_on};
}

}  // namespace dlock::mysql
