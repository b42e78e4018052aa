// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connection/waiter.h"

#include <algorithm>

#include "backends/mysql/connection/common_statements.h"
#include "lib/base/random.h"

namespace dlock::mysql {
namespace {

using namespace std::chrono_literals;

constexpr Duration kConnectTimeout = 5s;
constexpr Duration kReconnectPause = 40ms;  ///< before a server that could not be reached is tried again
constexpr Duration kBetweenTries = 1s;
constexpr Duration kShortestAttempt = 500ms;  ///< so that a wait of next to nothing is not mistaken for a dead server

Duration connect_timeout_of(const WaitPolicy& wait) {
  return wait.connect_timeout > 0s ? wait.connect_timeout : kConnectTimeout;
}

}  // namespace

TimePoint attempt_end(const WaitPolicy& wait, TimePoint since, TimePoint now) {
  const TimePoint end = std::max(since + connect_timeout_of(wait), now + kReconnectPause);
  return wait.until ? std::min(end, std::max(*wait.until, now + kShortestAttempt)) : end;
}

TimePoint Waiter::attempt_until() {
  const TimePoint now = clock_.now();
  if (!out_since_) out_since_ = now;
  return attempt_end(spec_.wait, outlives_outages() ? now : *out_since_, now);
}

bool Waiter::outlived(const Error& error) {
  if (error.code != ErrorCode::kUnavailable || spec_.wait.once) return true;
  const TimePoint now = clock_.now();
  if (!out_since_) out_since_ = now;
  if (spec_.wait.until && now >= *spec_.wait.until) return true;
  return !outlives_outages() && now + kReconnectPause >= *out_since_ + connect_timeout_of(spec_.wait);
}

bool Waiter::is_over() const {
  const WaitPolicy& wait = spec_.wait;
  return wait.once || (wait.tries > 0 && attempts_ >= wait.tries) || (wait.until && clock_.now() >= *wait.until);
}

bool Waiter::wait_until(TimePoint until, Control& control) {
  if (spec_.wait.until) until = std::min(until, *spec_.wait.until);
  while (true) {
    if (control.stop_requested()) return false;
    answer_who(control);
    if (clock_.now() >= until) return true;
    std::vector<pollfd> fds;
    control.add_interest(fds);
    clock_.wait(fds, until);
  }
}

bool Waiter::pause_for_retry(Control& control) {
  return wait_until(clock_.now() + kReconnectPause + jitter(kReconnectPause), control);
}

bool Waiter::pause_between_tries(Control& control) {
  const Duration pause = spec_.wait.retry_interval > 0s ? spec_.wait.retry_interval : kBetweenTries;
  return wait_until(clock_.now() + pause, control);
}

std::optional<Outcome> Waiter::wait_on_server(std::uint64_t id, TimePoint until, Control& control) {
  Database* database = servers_.current();
  while (true) {
    if (auto outcome = database->outcome()) return outcome;
    if (control.stop_requested() || clock_.now() >= until) {
      end_session(servers_, id, clock_);
      return std::nullopt;
    }
    answer_who(control);
    std::vector<pollfd> fds;
    control.add_interest(fds);
    database->add_interest(fds);
    clock_.wait(fds, until);
  }
}

TimePoint Waiter::queue_until(Duration longest) const {
  const TimePoint end = clock_.now() + longest;
  return spec_.wait.until ? std::min(*spec_.wait.until, end) : end;
}

void Waiter::answer_who(Control& control) {
  if (!control.take_who()) return;
  if (auto state = look_()) control.tell(Waiting{std::move(*state)});
}

}  // namespace dlock::mysql
