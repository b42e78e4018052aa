// SPDX-License-Identifier: Apache-2.0
// What an acquisition says and does while the store is out.
#include "lib/keeper/acquisition.h"

#include "tests/unit/keeper/acquisition_world.h"

namespace dlock::acquisition_test {
namespace {

TEST_CASE_TEMPLATE("an outage ends the first contact after connect-timeout, and a wait after the wait", Driver,
                   Blocking, Polling) {
  struct Case {
    const char* what;
    Duration from;
    Duration until;
    std::optional<Duration> wait;
    bool hangs;
    bool granted;
    Duration ends_at;  ///< within the next half second
  };
  for (const Case& c :
       {Case{"nobody is there", 0s, 1h, {}, false, false, 5s}, Case{"nobody answers", 0s, 1h, {}, true, false, 5s},
        Case{"it comes up", 0s, 3s, {}, false, true, 100s},
        Case{"a waiter survives an outage shorter than its wait", 90s, 160s, 200s, false, true, 160s},
        Case{"a waiter without a limit survives any", 90s, 10h, {}, true, true, 10h},
        Case{"a waiter whose wait ends in the outage", 90s, 10h, 200s, false, false, 200s},
        Case{"the same, and it hangs", 90s, 10h, 200s, true, false, 200s}}) {
    CAPTURE(c.what);
    World<Driver> world;
    if (c.wait) world.spec.wait.until = world.at(*c.wait);
    world.lock.free_at = world.at(100s);
    world.lock.hangs = c.hangs;
    world.is_out(c.from, c.until);
    const auto answer = world.run();
    REQUIRE(answer);
    CHECK(std::holds_alternative<Granted>(*answer) == c.granted);
    if (!c.granted) CHECK(std::get<Refused>(*answer).error.code == ErrorCode::kUnavailable);
    CHECK(world.clock.since_start() >= c.ends_at);
    CHECK(world.clock.since_start() < c.ends_at + (c.granted && c.hangs ? 5500ms : 500ms));
    CHECK(world.lock.given_up == (c.granted ? 0 : 1));
  }
}

TEST_CASE_TEMPLATE("a dead server is asked 12 to 25 times a second at first, and 4 to 8 times in a long outage", Driver,
                   Blocking, Polling) {
  World<Driver> world;
  world.lock.free_at = world.at(100s);
  world.is_out(90s, 1000s);
  world.spec.wait.until = world.at(200s);
  (void)world.refused();
  int early = 0;
  int late = 0;
  for (const Duration tried : world.lock.tried_at) {
    if (tried >= 100s && tried < 105s) ++early;
    if (tried >= 106s && tried < 116s) ++late;
  }
  CHECK(early >= 60);
  CHECK(early <= 126);
  CHECK(late >= 39);
  CHECK(late <= 81);
}

TEST_CASE_TEMPLATE("an answer that may pass is asked again for connect-timeout only; one that will not is final",
                   Driver, Blocking, Polling) {
  World<Driver> world;
  world.lock.free_at = world.at(100s);
  world.lock.answers = true;
  world.is_out(90s, 10h);
  SUBCASE("too few replicas") {
    CHECK(world.refused().error.code == ErrorCode::kUnavailable);
    CHECK(world.clock.since_start() >= 105s);
    CHECK(world.clock.since_start() < 106s);
  }
  SUBCASE("a crowd of others") {
    world.lock.answers = false;
    world.lock.failure.outage = Outage::kCrowded;
    CHECK(world.refused().error.code == ErrorCode::kUnavailable);
    CHECK(world.clock.since_start() < 106s);
  }
  SUBCASE("no right to") {
    world.lock.failure = {ErrorCode::kDenied, "NOAUTH", ""};
    CHECK(world.refused().error.code == ErrorCode::kDenied);
    CHECK(world.clock.since_start() == 100s);
  }
  CHECK(world.lock.given_up == 1);
}

TEST_CASE_TEMPLATE("a store that answers questions and takes no lock is told as an outage, and has an end", Driver,
                   Blocking, Polling) {
  World<Driver> world;
  const std::vector<std::string> told{"unreached: no answer"};
  SUBCASE("from the first contact on") {
    world.lock.reads_from = world.at(0s);
    world.is_out(0s, 10h);
    CHECK(world.refused().error.message == "no answer");
    CHECK(world.clock.since_start() < 5500ms);
  }
  SUBCASE("between two attempts") {
    world.lock.free_at = world.at(100s);
    world.lock.reads_from = world.at(0s);
    world.is_out(90s, 10h);
    CHECK(world.refused().error.message == "no answer");
    CHECK(world.clock.since_start() >= 105s);
    CHECK(world.clock.since_start() < 106s);
    CHECK(told_of_outages(world.control.told) == told);
  }
  SUBCASE("but one that was cut off after a question is waited for") {
    world.lock.free_at = world.at(100s);
    world.lock.reads_from = world.at(0s);
    world.lock.reads_until = world.at(103s);
    world.is_out(90s, 200s);
    CHECK(world.is_granted());
  }
}

TEST_CASE_TEMPLATE("the reason of an outage is that of the last attempt that its end did not cut short", Driver,
                   Blocking, Polling) {
  World<Driver> world;
  world.is_out(0s, 24h);
  world.lock.hangs_from = world.at(4s);
  CHECK(world.refused().error.message == "no answer");
  world.lock.hangs_from = world.at(0s);
  CHECK(world.refused().error.message == "no answer in time");
}

TEST_CASE_TEMPLATE("who is waited for is told while we wait, and in an outage as soon as it is over", Driver, Blocking,
                   Polling) {
  World<Driver> world;
  world.spec.wait.until = world.at(200s);
  world.control.who = true;
  Duration told_at = 0s;
  SUBCASE("at once") {}
  SUBCASE("after an outage") {
    world.is_out(0s, 3s);
    told_at = 3s;
  }
  (void)world.refused();
  REQUIRE(world.control.told.size() == 1);
  CHECK(std::get<Waiting>(world.control.told[0]).state.holders.at(0).owner == "somebody");
  CHECK(world.lock.described_at.front() >= told_at);
  CHECK(world.lock.described_at.front() < told_at + 500ms);
}

TEST_CASE_TEMPLATE("who waits is told once that nobody can be asked, and why, and once that the outage is over", Driver,
                   Blocking, Polling) {
  const std::vector<std::string> nothing;
  const std::vector<std::string> gone{"unreached: no answer"};
  const std::vector<std::string> back{"unreached: no answer", "reached"};
  struct Case {
    const char* what;
    Duration from;
    Duration until;
    bool hangs;
    Duration connect_timeout;
    std::vector<std::string> told;
  };
  for (const Case& c :
       {Case{"a blip", 9s, 10500ms, false, 5s, nothing}, Case{"an outage", 9s, 20s, false, 5s, back},
        Case{"a server that hangs", 9s, 40s, true, 5s, back}, Case{"longer than the wait", 9s, 1h, false, 5s, gone},
        Case{"longer than the wait, and it hangs", 9s, 1h, true, 5s, gone},
        Case{"a first contact is refused with the reason", 0s, 1h, false, 5s, nothing},
        Case{"a first contact that may take its time", 0s, 20s, false, 30s, back}}) {
    CAPTURE(c.what);
    World<Driver> world;
    world.spec.wait.until = world.at(60s);
    world.spec.wait.connect_timeout = c.connect_timeout;
    world.lock.free_at = world.at(10s);
    world.lock.hangs = c.hangs;
    world.is_out(c.from, c.until);
    (void)world.run();
    CHECK(told_of_outages(world.control.told) == c.told);
  }
}

TEST_CASE_TEMPLATE("an outage that comes back is told again", Driver, Blocking, Polling) {
  World<Driver> world;
  world.lock.free_at = world.at(10s);
  world.is_out(9s, 20s);
  world.control.on_tell = [&](const SessionEvent& event) {
    if (world.clock.since_start() > 40s) return;
    world.lock.free_at = world.at(50s);
    if (std::holds_alternative<Reached>(event)) world.is_out(49s, 70s);
  };
  CHECK(world.is_granted());
  CHECK(told_of_outages(world.control.told) ==
        std::vector<std::string>{"unreached: no answer", "reached", "unreached: no answer", "reached"});
}

TEST_CASE_TEMPLATE(
    "a question who has it that the store does not answer is asked again, and told as an outage when that lasts",
    Driver, Blocking, Polling) {
  World<Driver> world;
  world.spec.wait.until = world.at(100s);
  world.control.who = true;
  SUBCASE("soon answered") {
    world.lock.describable_from = world.at(1500ms);
    (void)world.refused();
    REQUIRE(world.control.told.size() == 1);
    CHECK(std::get<Waiting>(world.control.told[0]).state.holders.at(0).owner == "somebody");
  }
  SUBCASE("answered after a minute") {
    world.lock.describable_from = world.at(1min);
    (void)world.refused();
    REQUIRE(world.control.told.size() == 3);
    CHECK(std::get<Unreached>(world.control.told[0]).why == "no answer");
    CHECK(std::holds_alternative<Reached>(world.control.told[1]));
    CHECK(std::holds_alternative<Waiting>(world.control.told[2]));
    CHECK(world.lock.described_at.size() < 100);
  }
  SUBCASE("nobody is to be told") {
    world.lock.failure.code = ErrorCode::kUnsupported;
    world.lock.describable_from = world.at(1min);
    (void)world.refused();
    REQUIRE(world.control.told.size() == 1);
    CHECK(std::get<Waiting>(world.control.told[0]).state.holders.empty());
  }
}

TEST_CASE_TEMPLATE("with -v an outage says once that it is tried again, and why", Driver, Blocking, Polling) {
  World<Driver> world;
  world.lock.free_at = world.at(100s);
  world.is_out(90s, 160s);
  CHECK(world.is_granted());
  CHECK(world.said() == "dlock: k: tried again: no answer\n");
}

}  // namespace
}  // namespace dlock::acquisition_test
