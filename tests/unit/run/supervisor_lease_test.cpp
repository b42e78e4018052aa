// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "lib/lock/lease.h"
#include "lib/run/supervisor.h"

namespace supervisor_lease_test {

using namespace dlock;
using namespace std::chrono_literals;

TEST_CASE("A store that gives less than the ttl: the command starts, and the time to end in fits the lease") {
  const TimePoint start{1000h};
  const TimePoint deadline = lease_deadline(start, 30s);
  SupervisionPolicy policy;
  policy.ttl = 20min;
  policy.kill_after = 60s;
  const SessionEvent granted =
      Granted{{{*LockName::parse("k"), Owner::random(), FencingToken(7), "fake:"}}, deadline, 30s};

  SupervisorState s;
  decide(policy, s, granted, start);
  const auto actions = decide(policy, s, TimePassed{}, start);
  REQUIRE(actions.size() == 1);
  CHECK(actions[0].kind == Action::Kind::kStartCommand);
  CHECK(wake_at(policy, s) == term_at(deadline, 20min, 5s));
  decide(policy, s, SessionEvent(Lost{"stolen"}), start + 1s);
  CHECK(wake_at(policy, s) == start + 6s);

  SupervisorState late;  // it was stopped
  decide(policy, late, granted, start);
  CHECK(decide(policy, late, TimePassed{}, deadline - 2s).empty());
}

}  // namespace supervisor_lease_test
