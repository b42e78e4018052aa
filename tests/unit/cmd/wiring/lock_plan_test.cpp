// SPDX-License-Identifier: Apache-2.0
#include "cmd/wiring/lock_plan.h"

#include <doctest/doctest.h>

#include "tests/unit/cmd/options/options_world.h"

namespace lock_plan_test {

using namespace dlock;
using namespace std::chrono_literals;
using options_test::parsed;
using options_test::run;

TEST_CASE("plan: each key has its lock, with what was asked for all of them") {
  const Options options = parsed({"run", "-m", "why", "-s", "-t", "9s", "b", "a", "--", "/usr/bin/make", "x"});
  const LockPlan plan = plan_locks(options);
  REQUIRE(plan.locks.size() == 2);
  CHECK(plan.locks[0].name.text() == "a");
  CHECK(plan.locks[1].name.text() == "b");
  CHECK(plan.locks[0].owner != plan.locks[1].owner);
  for (const LockSpec& lock : plan.locks) {
    CHECK(lock.mode == Mode::kShared);
    CHECK(lock.reason == "why");
    CHECK(lock.command == "make");
    CHECK(lock.ttl == 9s);
    CHECK(lock.renew_interval == 3s);
    CHECK(lock.take);
  }
  CHECK(plan.supervision.ttl == 9s);
  CHECK(plan.telling.keys == options.keys);
  CHECK(std::string_view(plan.command[1]) == "x");
  CHECK(!plan.sells());
  CHECK(!plan.lease);
}

TEST_CASE("plan: a wait begins when the store is asked, and with --replace behind nobody") {
  const TimePoint now = TimePoint{} + 1h;
  CHECK(plan_locks(parsed(run({"-w", "5"}))).wait.from(now).until == now + 5s);
  CHECK(!plan_locks(parsed(run({}))).wait.from(now).until);
  const LockPlan once = plan_locks(parsed(run({"-n"})));
  CHECK(once.wait.from(now).once);
  CHECK(once.tries_once());
  const LockPlan replaces = plan_locks(parsed(run({"-n", "--replace"})));
  CHECK_FALSE(replaces.wait.from(now).once);
  CHECK(replaces.locks.front().behind_nobody);
  CHECK(replaces.tries_once());
}

TEST_CASE("plan: what is kept at least outlives the lease, and a signal ends no command") {
  const LockPlan plan = plan_locks(parsed(run({"--at-least", "1m", "--on-lost", "signal:USR1"})));
  CHECK(plan.locks.front().ttl == 1min);
  CHECK(plan.locks.front().renew_interval == 10s);
  CHECK_FALSE(plan.locks.front().ends_command);
}

TEST_CASE("plan: the stores are asked in their order, and there is something behind the first one") {
  const LockPlan plan = plan_locks(parsed(run({"-b", "redis://a", "--fallback", "redis://b"})));
  REQUIRE(plan.stores.size() == 2);
  CHECK(plan.stores[1].redacted() == "redis://b");
  CHECK(plan.wait.policy.has_fallback);
  CHECK(plan_locks(parsed(run({"-b", "redis://a", "--if-unavailable", "run"}))).wait.policy.has_fallback);
  CHECK_FALSE(plan_locks(parsed(run({"-b", "redis://a"}))).wait.policy.has_fallback);
}

TEST_CASE("plan: acquire leaves a lease, wait takes nothing, a sale says how it is asked again") {
  const LockPlan lease = plan_locks(parsed({"acquire", "k", "--watch-pid", "7"}));
  REQUIRE(lease.lease);
  CHECK(lease.lease->watch_pid == 7);
  CHECK(lease.locks.front().left_to == 7);
  CHECK(plan_locks(parsed({"acquire", "k", "-t", "1m"})).locks.front().left_to == 0);
  CHECK_FALSE(plan_locks(parsed({"wait", "k"})).locks.front().take);
  const Options sale = parsed({"stock", "run", "phone", "--qty", "2", "--id", "o-1", "--", "true"});
  const LockPlan sells = plan_locks(sale);
  CHECK(sells.sells());
  CHECK(sells.locks.front().stock->quantity == 2);
  CHECK(sells.telling.ask_again == "dlock stock run --qty 2 --id o-1 phone -- true");
}

TEST_CASE("plan: a sale is asked again under the same lock and with the same ends of its command") {
  const Options sale = parsed({"stock", "run", "phone", "--id", "o-1", "--mode", "lock", "-t", "9s", "--max-hold", "1m",
                               "-k", "1s", "--on-lost", "signal:USR1", "-w", "3", "--", "true"});
  CHECK(plan_locks(sale).telling.ask_again ==
        "dlock stock run --id o-1 --mode lock --ttl 9s --max-hold 1m --kill-after 1s --on-lost signal:USR1 phone -- "
        "true");
}

}  // namespace lock_plan_test
