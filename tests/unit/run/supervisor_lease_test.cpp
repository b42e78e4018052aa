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

TEST_CASE("Far less than the ttl: what is kept free before the end fits the lease, and a renewal comes before it") {
  const TimePoint start{1000h};
  SupervisionPolicy policy;  // ttl 30 s, whose margin is 1 s
  for (const Duration lease : {Duration(1s), Duration(1333ms), Duration(2s), Duration(8s)}) {
    CAPTURE(lease.count());
    const TimePoint deadline = lease_deadline(start, lease);
    SupervisorState s;
    decide(policy, s,
           SessionEvent(Granted{{{*LockName::parse("k"), Owner::random(), FencingToken(7), "fake:"}}, deadline, lease}),
           start);
    REQUIRE(decide(policy, s, TimePassed{}, start + lease / 10).size() == 1);
    CHECK(s.phase == Phase::kRunning);
    CHECK(wake_at(policy, s) == term_at(deadline, lease, default_kill_after(lease)));
    CHECK(wake_at(policy, s) > start + lease / 2);
    CHECK(decide(policy, s, TimePassed{}, start + lease / 2).empty());

    REQUIRE_FALSE(decide(policy, s, TimePassed{}, deadline - lease * 6 / 25).empty());
    CHECK(s.phase == Phase::kEnding);
    CHECK(wake_at(policy, s) == kill_at(deadline, lease));
  }
}

}  // namespace supervisor_lease_test
