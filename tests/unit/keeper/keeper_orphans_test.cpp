// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/unit/keeper/keeper_world.h"

namespace keeper_orphans_test {

using namespace dlock;
using namespace dlock::testing;
using namespace dlock::testing::keeper;
using namespace std::chrono_literals;

TEST_CASE("A supervisor that dies before the grant leaves nothing behind") {
  World world;
  SUBCASE("before it asked for anything") {
    world.at(1s, [&] { world.die(); });
    CHECK(world.run_silent() == 0);
  }
  SUBCASE("while the lock is waited for") {
    world.lock.acquire = [&](Control& control) {
      world.die();
      CHECK(control.stop_requested());
      return std::nullopt;
    };
    CHECK(world.run() == 0);
  }
  SUBCASE("as it is granted") {
    world.lock.acquire = [&](Control&) {
      world.die();
      return std::variant<Granted, Refused>(world.grant());
    };
    CHECK(world.run() == 0);
    CHECK(world.lock.releases == std::vector<Duration>{0s});
  }
  CHECK(world.processes.signals.empty());
}

TEST_CASE("A supervisor that dies without a command: the lock is given back at once, nobody is looked for") {
  World world;
  world.at(4s, [&] { world.die(); });
  world.run();
  CHECK(world.lock.releases == std::vector<Duration>{4s});
  CHECK_FALSE(world.processes.looked);
}

TEST_CASE("Orphans under a lease that the store took away are killed at once, and nothing is given back") {
  World world;
  world.processes.living.push_back({{100, 1}, false});
  world.spec.kill_after = 15s;
  world.lock.renew = [](Control&, TimePoint) { return RenewalLost{"it is held by ci-4"}; };
  world.at(1s, [&] { world.say_started(); });
  world.at(8s, [&] { world.die(); });
  world.run();
  REQUIRE(world.processes.signals.size() == 2);
  CHECK(world.processes.signals[1].number == SIGKILL);
  CHECK(world.processes.signals[1].at - 10s < 60ms);
  CHECK(world.lock.releases.empty());
}

TEST_CASE("Where nothing that could be ended was started, nobody is looked for") {
  World world;
  world.at(1s, [&] { world.say({"started", {}}); });
  world.at(4s, [&] { world.die(); });
  CHECK(world.run() == 0);
  CHECK_FALSE(world.processes.looked);
  CHECK(world.lock.releases == std::vector<Duration>{4s});
}

TEST_CASE("A keeper that has said its last word ends after its supervisor, whether that one ends or not") {
  for (const bool ends : {true, false}) {
    CAPTURE(ends);
    World world;
    world.at(1s, [&] { world.say_release(); });
    if (ends) world.at(1s + 20ms, [&] { world.die(); });
    world.run();
    CHECK(world.last_word_is<Released>());
    if (ends) {
      CHECK(world.ended > 1s + 20ms);
      CHECK(world.ended < 1s + 50ms);
    } else {
      CHECK(world.ended == 1s + kLastWordToEnd);
    }
    CHECK(world.processes.signals.empty());
  }
}

TEST_CASE(
    "How the command ended is known to the lock before it is given back, also when the supervisor dies in between") {
  for (const bool dies : {false, true}) {
    CAPTURE(dies);
    World world;
    world.at(2s, [&] { world.say({"ended", {{"status", "256"}}}); });
    world.at(2s, [&] { dies ? world.die() : world.say_release(); });
    world.run();
    CHECK(world.lock.ended == 256);
    CHECK(world.lock.releases == std::vector<Duration>{2s});
  }
}

TEST_CASE("A supervisor that dies has not said how its command ended") {
  World world;
  world.at(2s, [&] { world.die(); });
  world.run();
  CHECK_FALSE(world.lock.ended);
  CHECK(world.lock.releases == std::vector<Duration>{2s});
}

namespace {

const Duration kHalfMargin = kill_margin(kTtl) / 2;

/// The store takes the lock away 10 s after the grant.
void take_away(World& world) {
  world.lock.renew = [](Control&, TimePoint) { return RenewalLost{"it is held by ci-4"}; };
}

/// Another client asks for the lock 3 s after the grant.
void ask_for(World& world) {
  world.lock.wake_at = FakeClock::start() + 3s;
  world.lock.held = [&](TimePoint) {
    world.lock.wake_at.reset();
    return RevocationRequested{"another client asked for it"};
  };
}

void run_command(World& world) {
  world.processes.living.push_back({{100, 1}, false});
  world.at(1s, [&] { world.say_started(); });
}

using Sent = FakeProcesses::Sent;

}  // namespace

TEST_CASE("A supervisor that acts late, but acts: its keeper is content") {
  World world;
  take_away(world);
  run_command(world);
  world.at(12s, [&] { world.processes.end(100); });
  world.at(12s, [&] { world.say({"over", {}}); });
  world.run();
  CHECK(world.processes.signals.empty());
  CHECK(world.ended <= 12s + kLastWordToEnd);
}

TEST_CASE("A lock that somebody asks for is given back when the supervisor has ended its command") {
  World world;
  world.spec.lock_delay = 20s;  // this end is an orderly one
  run_command(world);
  ask_for(world);
  world.at(4s, [&] { world.processes.end(100); });
  world.at(4s, [&] { world.say_release(); });
  world.run();
  const auto asked = world.heard<Lost>();
  REQUIRE(asked.size() == 1);
  CHECK(asked[0].first == 3s);
  CHECK(asked[0].second.why == "another client asked for it");
  CHECK_FALSE(asked[0].second.final);
  CHECK(world.processes.signals.empty());
  CHECK(world.lock.leaves.empty());
  CHECK(world.lock.releases == std::vector<Duration>{4s});
  CHECK(world.last_word_is<Released>());
}

namespace {

/// The supervisor and the guard of its command are killed at once, 4 s after the grant.
void kill_both(World& world) {
  world.at(4s, [&] { world.processes.kill_guard(); });
  world.at(4s, [&] { world.die(); });
}

}  // namespace

TEST_CASE(
    "A guard that was killed with its supervisor says nothing: what was seen below it, or knows the owner, is ended") {
  for (const bool seen : {true, false}) {
    CAPTURE(seen);
    World world;
    world.processes.living.push_back({{100, 5}, false, false, !seen});
    if (!seen) world.processes.marked = {100};
    world.at(1s, [&] { world.say_started(); });
    kill_both(world);
    world.at(7s, [&] { world.processes.end(100); });
    world.run();
    REQUIRE(world.processes.signals.size() == 1);
    CHECK(world.processes.signals[0] == Sent{4s, 100, SIGTERM});
    REQUIRE(world.lock.releases.size() == 1);
    CHECK(world.lock.releases[0] >= 7s);
    CHECK(world.lock.releases[0] < 7s + 60ms);
  }
}

TEST_CASE("What a guard that was killed may have left is waited for, for a lease at most, and gets no signal") {
  for (const bool ends : {true, false}) {
    CAPTURE(ends);
    World world;
    world.processes.living.push_back({{100, 5}});
    world.processes.living.push_back({{200, 5}, true, false, true});
    world.at(1s, [&] { world.say_started(); });
    kill_both(world);
    if (ends) world.at(20s, [&] { world.processes.end(200); });
    world.run();
    CHECK(world.processes.signals == std::vector<Sent>{{4s, 100, SIGTERM}});
    REQUIRE(world.lock.releases.size() == 1);
    const Duration from = ends ? 20s : 4s + kTtl;
    CHECK(world.lock.releases[0] >= from);
    CHECK(world.lock.releases[0] < from + 60ms);
    CHECK(world.lock.renewals.size() >= (ends ? 1 : 3));
  }
}

TEST_CASE("Where a guard that was killed left nobody, the lock is given back at once") {
  World world;
  world.processes.living.push_back({{100, 5}});
  world.at(1s, [&] { world.say_started(); });
  world.at(4s, [&] { world.processes.kill_guard(); });
  world.at(4s, [&] { world.processes.end(100); });  // by the kernel
  world.at(4s, [&] { world.die(); });
  world.run();
  CHECK(world.processes.signals.empty());
  CHECK(world.lock.releases == std::vector<Duration>{4s});
}

TEST_CASE("The guard of a run inside is killed with its supervisor: the hold is kept until what it left has ended") {
  World world;
  UniqueFd inside;
  world.processes.living.push_back({{100, 5}, false});
  world.at(1s, [&] { world.say_started(); });
  world.at(2s, [&] { world.enter(inside, world.spec); });
  UniqueFd inner_guard;
  world.at(2s, [&] {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    inner_guard = UniqueFd(ends[1]);
    int word[2];
    REQUIRE(pipe(word) == 0);
    world.say_inside(inside, {"farewell", {}}, word[0]);
    world.say_inside(inside, {"started", {}}, ends[0]);
    close(ends[0]);
    close(word[0]);  // its other end stays open: no word
  });
  world.at(4s, [&] { inner_guard.reset(); });
  world.at(4s, [&] { inside.reset(); });
  world.at(5s, [&] { world.say_release(); });
  world.at(9s + 500ms, [&] { world.processes.end(100); });
  world.run();
  CHECK(world.last_word_is<Released>());
  REQUIRE(world.lock.releases.size() == 1);
  CHECK(world.lock.releases[0] >= 9s);
  CHECK(world.lock.releases[0] < 10s);
}

}  // namespace keeper_orphans_test
