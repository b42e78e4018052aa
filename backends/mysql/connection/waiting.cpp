// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connection/waiting.h"

#include "backends/mysql/connection/common_statements.h"

namespace dlock::mysql {

Waited wait_on_server(Acquisition& acquisition, Servers& servers, Clock& clock, std::uint64_t id, TimePoint until,
                      Control& control) {
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
  acquisition.wait_on({has_come, sleep}, until, control);
  if (!outcome) database->abandon();
  const bool went_on = database->went_on();
  if (!outcome) end_session(servers, id, clock);
  return {std::move(outcome), went_on};
}

}  // namespace dlock::mysql
