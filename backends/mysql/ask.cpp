// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/ask.h"

namespace dlock::mysql {

Outcome await(Database& database, Clock& clock, std::optional<TimePoint> until, Control* control) {
  while (true) {
    if (auto outcome = database.outcome()) return std::move(*outcome);
    const bool stop = control != nullptr && control->stop_requested();
    if (stop || (until && clock.now() >= *until)) {
      database.abandon();
      return Failure{0, stop ? "given up on request" : "no answer in time", true, true};
    }
    std::vector<pollfd> fds;
    if (control != nullptr) control->add_interest(fds);
    database.add_interest(fds);
    clock.wait(fds, until);
  }
}

Outcome ask(Database& database, std::string statement, Clock& clock, TimePoint until, Control* control) {
  database.begin(std::move(statement));
  return await(database, clock, until, control);
}

}  // namespace dlock::mysql
