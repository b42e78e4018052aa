// SPDX-License-Identifier: Apache-2.0
#include "tests/verify/schedule.h"

#include <doctest/doctest.h>

#include <set>

namespace verify_schedule_test {

using namespace dlock;
using namespace std::chrono_literals;

VerifyPlan a_minute(std::uint64_t seed) {
  return {.seed = seed, .duration = 60s, .ttl = 3s, .hook = "true", .faults = *parse_faults("all")};
}

TEST_CASE("verify: --faults takes kill, stop, all and none") {
  CHECK(parse_faults("all")->size() == 6);
  CHECK(parse_faults("none")->empty());
  CHECK(*parse_faults("kill") == std::vector<Fault>{Fault::kKillRun, Fault::kKillKeeper, Fault::kKillBoth});
  for (const char* wrong : {"kil", "kill,stop", "hook", "kill-run", ""}) CHECK_FALSE(parse_faults(wrong));
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
  CHECK(seen.size() == 7);
  CHECK(plan_faults(a_minute(8)).front().target != planned.front().target);
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

TEST_CASE("verify: a store that can is asked for readers, a queue and permits") {
  Dice dice(1);
  std::set<std::string> seen;
  for (int i = 0; i < 500; ++i) {
    const Order order = next_order(dice, {.shared = true, .fair = true, .permits = true}, 3s);
    seen.insert(order.key + ' ' + mode_name(order.mode) + (order.fair ? " fair" : ""));
  }
  CHECK(seen == std::set<std::string>{"p permits", "q exclusive fair", "q shared fair", "x exclusive"});
}

}  // namespace verify_schedule_test
