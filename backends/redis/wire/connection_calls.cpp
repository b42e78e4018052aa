// SPDX-License-Identifier: Apache-2.0
// Questions that are waited for: whoever asks has nothing else to do.
#include <algorithm>

#include "backends/redis/wire/connection.h"
#include "lib/net/answer_wait.h"

namespace dlock::redis {
namespace {

/// The server, a probe of it, whoever may not want it any more, and a timer.
constexpr std::size_t kMostInterest = 4;

std::vector<pollfd> interest_of(const Connection& connection) {
  std::vector<pollfd> fds;
  fds.reserve(kMostInterest);
  connection.add_interest(fds);
  return fds;
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
    std::vector<pollfd> fds = interest_of(connection);
    if (control != nullptr) control->add_interest(fds);
    clock.wait(fds, earlier(connect_by, connection.wake_at()));
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
  AnswerWait wait(clock, until, control);
  while (true) {
    TRY(connection.advance(clock.now()));
    while (replies.size() < expected) {
      auto reply = connection.next_answer();
      if (!reply) break;
      replies.push_back(std::move(*reply));
    }
    if (replies.size() == expected) return replies;
    if (wait.is_over()) {
      connection.close();
      if (wait.is_stopped()) return cancelled();
      return Error{ErrorCode::kUnavailable, connection.settings().endpoint.text() + " did not answer in time"};
    }
    std::vector<pollfd> fds = interest_of(connection);
    wait.poll(fds, connection.wake_at());
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
