// SPDX-License-Identifier: Apache-2.0
// Questions that are waited for: whoever asks has nothing else to do.
#include <algorithm>

#include "backends/redis/wire/connection.h"

namespace dlock::redis {
namespace {

/// To wait for an answer after a stop: less than what a new connection may cost, which what comes next would need.
constexpr Duration kLastWait = std::chrono::milliseconds(400);
/// The server, a probe of it, whoever may not want it any more, and a timer.
constexpr std::size_t kMostInterest = 4;

/// One wait for the server, the time, and whoever may not want it any more.
void wait_for(const Connection& connection, Clock& clock, TimePoint until, const Control* control) {
  std::vector<pollfd> fds;
  fds.reserve(kMostInterest);
  connection.add_interest(fds);
  if (control != nullptr) control->add_interest(fds);
  clock.wait(fds, earlier(until, connection.wake_at()));
}

bool is_stopped(Control* control) { return control != nullptr && control->stop_requested(); }

Error cancelled() { return {ErrorCode::kCancelled, "given up on request"}; }

}  // namespace

Result<void> connect(Connection& connection, Clock& clock, TimePoint connect_by, Control* control) {
  TimePoint now = clock.now();
  if (connection.is_ready()) {
    const bool subscribed = connection.is_subscribed();
    auto went = connection.advance(now);
    if (went || subscribed) return went;
  }
  if (connection.is_closed()) connection.open(connect_by);
  for (;;) {
    if (auto went = connection.advance(now); !went) return went;
    if (connection.is_ready()) return {};
    wait_for(connection, clock, connect_by, control);
    now = clock.now();
    if (is_stopped(control)) {
      connection.close();
      return cancelled();
    }
  }
}

Result<std::vector<Reply>> ask(Connection& connection, std::span<const Command> commands, Clock& clock, TimePoint until,
                               Control* control) {
  for (const Command& command : commands) connection.send(command);
  const std::size_t expected = connection.outstanding();
  std::vector<Reply> replies;
  replies.reserve(expected);
  bool stopped = false;
  for (bool waited = false;; waited = true) {
    const TimePoint now = clock.now();
    TRY(connection.advance(now));
    while (replies.size() < expected) {
      auto reply = connection.next_answer();
      if (!reply) break;
      replies.push_back(std::move(*reply));
    }
    if (replies.size() == expected) return replies;
    if (waited && !stopped && is_stopped(control)) {
      stopped = true;
      until = std::min(until, now + kLastWait);
    }
    if (now >= until) {
      connection.close();
      if (stopped) return cancelled();
      return Error{ErrorCode::kUnavailable, connection.settings().endpoint.text() + " did not answer in time"};
    }
    wait_for(connection, clock, waited ? until : std::min(until, now + kSoonAnswered), stopped ? nullptr : control);
  }
}

Result<std::vector<Reply>> exchange(Connection& connection, const std::vector<Command>& commands, Clock& clock,
                                    TimePoint connect_by, TimePoint until, Control* control) {
  if (auto connected = connect(connection, clock, std::min(connect_by, until), control); !connected) {
    return std::move(connected).error();
  }
  return ask(connection, commands, clock, until, control);
}

}  // namespace dlock::redis
