// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/acquisition.h"

#include "tests/unit/keeper/acquisition_world.h"

namespace dlock::acquisition_test {
namespace {

TEST_CASE_TEMPLATE(
    "a holder that the store does not ask for us ends the wait with the reason, and no later than the wait ends",
    Driver, Blocking, Polling) {
  struct Case {
    const char* what;
    ErrorCode code;
    bool hangs;
    std::optional<Duration> wait;
    ErrorCode status;
    Duration ends_at;
  };
  for (const Case& c : {Case{"no right to", ErrorCode::kDenied, false, {}, ErrorCode::kDenied, 0s},
                        Case{"cannot be asked", ErrorCode::kUnsupported, false, {}, ErrorCode::kUnsupported, 1s},
                        Case{"the same, shortly", ErrorCode::kUnsupported, false, 1s, ErrorCode::kUnsupported, 1s},
                        Case{"refused for now", ErrorCode::kUnavailable, false, {}, ErrorCode::kUnavailable, 5s},
                        Case{"the same, shortly", ErrorCode::kUnavailable, false, 3s, ErrorCode::kUnavailable, 3s},
                        Case{"no answer", ErrorCode::kUnavailable, true, 3s, ErrorCode::kUnavailable, 3s},
                        Case{"the same, for ever", ErrorCode::kUnavailable, true, {}, ErrorCode::kUnavailable, 10s}}) {
    CAPTURE(c.what);
    World<Driver> world;
    world.spec.supersedes = Supersedes::kReplace;
    if (c.wait) world.spec.wait.until = world.at(*c.wait);
    world.control.asked = Error{c.code, "the reason"};
    world.control.asking_hangs = c.hangs;
    const Refused refused = world.refused();
    CHECK(refused.error.code == c.status);
    CHECK(refused.error.message == "the reason");
    CHECK(world.clock.since_start() == c.ends_at);
    CHECK(world.lock.given_up == 1);
  }
}

TEST_CASE_TEMPLATE("what is no lock is not waited for, and is refused for good; what is foreign is looked at once",
                   Driver, Blocking, Polling) {
  for (const bool once : {true, false}) {
    World<Driver> world;
    world.spec.wait.once = once;
    world.lock.foreign = world.lock.is_data = true;
    const Refused refused = world.refused();
    CHECK(refused.error.code == ErrorCode::kMisconfigured);
    CHECK(refused.error.message.ends_with("holds data, not a lock of a known kind: a list"));
    CHECK(refused.error.next == "choose another key");
    CHECK(!refused.state);
    CHECK(world.lock.waits.empty());
    CHECK(world.lock.given_up == 1);
  }
  World<Driver> world;
  world.lock.foreign = true;
  world.lock.free_at = world.at(10s);
  CHECK(world.is_granted());
  CHECK(world.lock.described_at == std::vector<Duration>{0s});
}

TEST_CASE_TEMPLATE("a free lock is had at the first attempt, and nothing is given back", Driver, Blocking, Polling) {
  World<Driver> world;
  world.lock.free_at = world.at(0s);
  CHECK(world.is_granted());
  CHECK(world.lock.tried_at.size() == 1);
  CHECK(world.lock.given_up == 0);
}

TEST_CASE_TEMPLATE("one attempt means at once, whether the lock is busy or the server is out", Driver, Blocking,
                   Polling) {
  World<Driver> world;
  world.spec.wait.once = true;
  SUBCASE("busy") { CHECK(world.refused().error.code == ErrorCode::kBusy); }
  SUBCASE("out") {
    world.is_out(0s, 1h);
    CHECK(world.refused().error.code == ErrorCode::kUnavailable);
  }
  CHECK(world.lock.tried_at == std::vector<Duration>{0s});
  CHECK(world.lock.given_up == 1);
  CHECK(world.clock.since_start() == 0s);
}

TEST_CASE_TEMPLATE("who waits sleeps until it is told, and for as long as was said", Driver, Blocking, Polling) {
  World<Driver> world;
  SUBCASE("for ever") {
    world.lock.free_at = world.at(10h);
    CHECK(world.is_granted());
    CHECK(world.lock.tried_at == std::vector<Duration>{0s, 10h});
    CHECK(world.lock.waits == std::vector<std::optional<Duration>>{std::nullopt});
  }
  SUBCASE("for a minute") {
    world.spec.wait.until = world.at(1min);
    CHECK(world.refused().error.code == ErrorCode::kBusy);
    CHECK(world.lock.tried_at == std::vector<Duration>{0s});
    CHECK(world.lock.waits == std::vector<std::optional<Duration>>{1min});
    CHECK(world.clock.since_start() == 1min);
    CHECK(world.lock.given_up == 1);
  }
}

TEST_CASE_TEMPLATE("counted tries are made, with their pauses, and no more of them", Driver, Blocking, Polling) {
  World<Driver> world;
  world.spec.wait.tries = 3;
  world.spec.wait.retry_interval = 2s;
  CHECK(world.refused().error.code == ErrorCode::kBusy);
  CHECK(world.lock.tried_at == std::vector<Duration>{0s, 2s, 4s});
}

TEST_CASE_TEMPLATE("whoever was busy is told, with the holder and those that wait, but for ourselves", Driver, Blocking,
                   Polling) {
  World<Driver> world;
  world.spec.wait.once = true;
  const Refused refused = world.refused();
  CHECK(refused.error.message == "k is already held");
  REQUIRE(refused.state);
  CHECK(refused.state->holders.at(0).owner == "somebody");
  REQUIRE(refused.state->waiters.size() == 1);
  CHECK(refused.state->waiters[0].owner == "another");
}

TEST_CASE_TEMPLATE("a withdraw ends everything at once, gives back what there is, and is no answer", Driver, Blocking,
                   Polling) {
  World<Driver> world;
  SUBCASE("while it waits") { world.control.stop_at = world.at(30s); }
  SUBCASE("while the server is out") {
    world.control.stop_at = world.at(101s);
    world.lock.free_at = world.at(100s);
    world.is_out(90s, 1h);
  }
  SUBCASE("between counted tries") {
    world.control.stop_at = world.at(30s);
    world.spec.wait.tries = 100;
    world.spec.wait.retry_interval = 20s;
  }
  SUBCASE("at the moment of the grant") {
    world.control.stop_at = world.at(100s);
    world.lock.free_at = world.at(100s);
  }
  world.clock.next_happening = [&] { return world.control.stop_at; };
  CHECK_FALSE(world.run());
  CHECK(world.clock.now() == *world.control.stop_at);
  CHECK(world.lock.given_up == 1);
}

TEST_CASE_TEMPLATE("what records a slot is not taken back: it may be there, and then it has run", Driver, Blocking,
                   Polling) {
  for (const bool takes : {true, false}) {
    World<Driver> world;
    world.spec.name = *LockName::of_slot(*LockName::parse("k"), "s");
    world.spec.take = takes;
    world.spec.wait.tries = 1;
    world.is_out(0s, 1h);
    CHECK(world.refused().error.code == ErrorCode::kUnavailable);
    CHECK(world.lock.given_up == (takes ? 0 : 1));
  }
}

TEST_CASE_TEMPLATE("a turn that comes while it is asked who has the lock is taken", Driver, Blocking, Polling) {
  World<Driver> world;
  world.spec.wait.until = world.at(100s);
  world.control.who = true;
  world.lock.free_at = world.at(1s);
  world.lock.describing_takes = 2s;
  CHECK(world.is_granted());
  CHECK(world.lock.tried_at == std::vector<Duration>{0s, 2s});
}

TEST_CASE_TEMPLATE("the same step is said once, and again after another one", Driver, Blocking, Polling) {
  World<Driver> world;
  world.lock.free_at = world.at(0s);
  REQUIRE(world.is_granted());
  for (const char* step : {"queued", "queued", "tried again", "queued"}) world.driver->trace(step);
  CHECK(world.said() == "dlock: k: queued\ndlock: k: tried again\ndlock: k: queued\n");
}

}  // namespace
}  // namespace dlock::acquisition_test
