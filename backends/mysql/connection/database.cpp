// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connection/database.h"

#include <algorithm>
#include <chrono>

namespace dlock::mysql {
namespace {

/// To wait for an answer after a stop: less than what a new connection would cost.
constexpr Duration kLastWait = std::chrono::milliseconds(400);

}  // namespace

AnswerOrFailure await(Database& database, Clock& clock, std::optional<TimePoint> until, Control* control) {
  bool stop = false;
  const TimePoint soon = clock.now() + kSoonAnswered;
  for (bool waited = false;; waited = true) {
    if (auto outcome = database.outcome()) return std::move(*outcome);
    if (waited && !stop && control != nullptr && control->stop_requested()) {
      stop = true;
      const TimePoint last = clock.now() + kLastWait;
      until = until ? std::min(*until, last) : last;
    }
    if (until && clock.now() >= *until) {
      database.close();
      return Failure{0, stop ? "given up on request" : "no answer in time", true, true};
    }
    std::vector<pollfd> fds;
    if (control != nullptr && !stop) control->add_interest(fds);
    database.add_interest(fds);
    clock.wait(fds, clock.now() < soon ? earlier(until, soon) : until);
  }
}

AnswerOrFailure ask(Database& database, std::string statement, Clock& clock, TimePoint until, Control* control) {
  database.begin(std::move(statement));
  return await(database, clock, until, control);
}

}  // namespace dlock::mysql
