// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdlib>

#include "backends/postgres/backend.h"
#include "tests/support/acquisition.h"

namespace dlock::testing::postgres_session_test {
namespace {

/// Whether its server says something within `span`.
bool is_heard(const LockDriver& lock, Clock& clock, Duration span) {
  std::vector<pollfd> fds;
  lock.add_interest(fds);
  clock.wait(fds, clock.now() + span);
  return fds.size() == 1 && fds.front().revents != 0;
}

}  // namespace

TEST_CASE("postgres session: an answer that comes late wakes its keeper once, and counts") {
  const char* server = getenv("DLOCK_TEST_POSTGRES");
  if (!server || *server == 0) return;  // the fixtures say what is missing
  const auto url = BackendUrl::parse(std::string(server) + "?strategy=session");
  REQUIRE(url);
  SystemClock clock;
  const Log log(Log::Style{.quiet = true});
  NoControl none;
  const auto lock = keep_postgres_lock(*url, once(exclusive("late/" + Owner::random().text())), {clock, log});
  REQUIRE(lock);
  const auto taken = (*lock)->acquire(none);
  REQUIRE(taken);
  REQUIRE(std::holds_alternative<Granted>(*taken));
  // Asked without the time to hear the answer.
  REQUIRE(eventually([&] { return std::holds_alternative<RenewalUnknown>((*lock)->renew(none, clock.now())); }));
  CHECK(is_heard(**lock, clock, kPatience));
  CHECK(std::holds_alternative<RenewalHeld>((*lock)->held(clock.now())));
  CHECK_FALSE(is_heard(**lock, clock, Duration(0)));
  CHECK(std::holds_alternative<RenewalRenewed>((*lock)->renew(none, clock.now() + kPatience)));
  CHECK((*lock)->release(clock.now() + kPatience));
}

}  // namespace dlock::testing::postgres_session_test
