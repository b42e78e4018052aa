// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connection/database.h"

#include "lib/net/answer_wait.h"

namespace dlock::mysql {
AnswerOrFailure await(Database& database, Clock& clock, std::optional<TimePoint> until, Control* control) {
  AnswerWait wait(clock, until, control);
  while (true) {
    if (auto outcome = database.outcome()) return std::move(*outcome);
    if (wait.is_over()) {
      database.close();
      return Failure{0, wait.is_stopped() ? "given up on request" : "no answer in time", true, true};
    }
    std::vector<pollfd> fds;
    database.add_interest(fds);
    wait.poll(fds);
  }
}

AnswerOrFailure ask(Database& database, std::string statement, Clock& clock, TimePoint until, Control* control) {
  database.begin(std::move(statement));
  return await(database, clock, until, control);
}

}  // namespace dlock::mysql
