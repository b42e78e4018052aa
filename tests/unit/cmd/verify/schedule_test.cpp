// SPDX-License-Identifier: Apache-2.0
#include "cmd/verify/schedule.h"

#include <doctest/doctest.h>

#include <set>

namespace verify_schedule_test {

using namespace dlock;
using namespace std::chrono_literals;

SchedulePlan a_minute(std::uint64_t seed) {
  return {.seed = seed, .duration = 60s, .ttl = 3s, .faults = *parse_faults("all"), .hook = true};
}

TEST_CASE("verify: --faults takes families, all and none") {
  CHECK(parse_faults("all")->size() == 11);
  CHECK(parse_faults("none")->empty());
  CHECK(*parse_faults("cut,kill") ==
        std::vector<Fault>{Fault::kCut, Fault::kKillRun, Fault::kKillKeeper, Fault::kKillBoth});
  for (const char* wrong : {"kil", "kill,,cut", "hook", "kill-run"}) {
    CAPTURE(wrong);
    REQUIRE(!parse_faults(wrong));
    CHECK(parse_faults(wrong).error().next.find("kill, stop, cut, stall, delay, oneway, revoke") != std::string::npos);
  }
}

TEST_CASE("verify: a schedule is the same for the same seed, and in time order") {
  const auto planned = plan_faults(a_minute(7));
  const auto again = plan_faults(a_minute(7));
  REQUIRE(planned.size() == again.size());
  std::set<Fault> seen;
  Duration before{0};
  for (std::size_t i = 0; i < planned.size(); ++i) {
    CHECK(planned[i].at == again[i].at);
    CHECK(planned[i].fault == again[i].fault);
    CHECK(planned[i].target == again[i].target);
    CHECK(planned[i].at >= before);
    CHECK(planned[i].at < 60s);
    before = planned[i].at;
    seen.insert(planned[i].fault);
  }
  CHECK(planned.size() > 30);
  CHECK(seen.size() >= 9);
  CHECK(plan_faults(a_minute(8)).front().target != planned.front().target);
}

TEST_CASE("verify: one network fault at a time") {
  SchedulePlan plan = a_minute(3);
  plan.faults = *parse_faults("stall,delay");
  plan.hook = false;
  Duration free_at{0};
  for (const PlannedFault& planned : plan_faults(plan)) {
    CHECK(planned.at >= free_at);
    free_at = planned.at + planned.lasts;
  }
}

TEST_CASE("verify: half of the rounds have a long lease, at which a lost release shows; those of the stock have not") {
  Dice dice(1);
  int longer = 0;
  for (int i = 0; i < 500; ++i) {
    const Duration ttl = next_order(dice, {.stock = true}, 3s).ttl;
    CHECK((ttl == 3s || ttl == 12s));
    longer += ttl == 12s ? 1 : 0;
  }
  CHECK(longer > 100);
  CHECK(longer < 300);
  CHECK(long_ttl(1s) == 8s);
}

TEST_CASE("verify: a store without permits, readers or a queue is not asked for them") {
  Dice dice(1);
  for (int i = 0; i < 500; ++i) {
    const Order order = next_order(dice, {}, 3s);
    CHECK((order.key == "x" || order.key == "q"));
    CHECK(order.mode == Mode::kExclusive);
    CHECK(!order.fair);
  }
}

TEST_CASE("verify: a store that can is asked for --at-least, --once, --replace and --newest") {
  Dice dice(1);
  std::set<std::string> seen;
  for (int i = 0; i < 500; ++i) {
    const Order order = next_order(dice, {.supersede = true, .at_least = true, .once = true}, 3s);
    seen.insert(order.key);
    CHECK((order.key == "a" || order.key == "o") == (order.kept > Duration(0)));
    CHECK((order.key == "o") == !order.slot.empty());
    CHECK((order.key == "w") == (order.supersedes != Supersedes::kNothing));
    CHECK(order.kept <= order.ttl);
  }
  CHECK(seen == std::set<std::string>{"a", "o", "q", "w", "x"});
}

}  // namespace verify_schedule_test
