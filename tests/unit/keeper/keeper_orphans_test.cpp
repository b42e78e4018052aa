// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/unit/keeper/keeper_world.h"

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
  CHECK(world.processes.asked_for == "nobody");
}

TEST_CASE("What is left of a dead supervisor's command is ended, and then the lock is given back") {
  World world;
  world.processes.living.push_back({{100, 1}});
  world.processes.living.push_back({{101, 1}});
  world.at(1s, [&] { world.say({"started", {{"pid", "100"}}}); });
  world.at(4s, [&] { world.die(); });
  world.run();
  using Sent = FakeProcesses::Sent;
  CHECK(world.processes.signals == std::vector<Sent>{{4s, 100, SIGTERM}, {4s, 101, SIGTERM}});
  CHECK(world.processes.asked_for == world.spec.owner.text());
  CHECK(world.processes.streams_closed);
  REQUIRE(world.lock.releases.size() == 1);
  CHECK(world.lock.releases[0] - 4s < 20ms);
}

TEST_CASE("The lock is given back only after the last process has ended, and within milliseconds of that") {
  World world;
  world.processes.living.push_back({{100, 1}, false});
  world.at(1s, [&] { world.say({"started", {{"pid", "100"}}}); });
  world.at(4s, [&] { world.die(); });
  world.at(6s, [&] { world.processes.end(100); });
  world.run();
  CHECK(world.processes.signals == std::vector<FakeProcesses::Sent>{{4s, 100, SIGTERM}});
  REQUIRE(world.lock.releases.size() == 1);
  CHECK(world.lock.releases[0] > 6s);
  CHECK(world.lock.releases[0] < 6s + 20ms);
}

TEST_CASE("A process that does not obey TERM is killed after kill_after, under a lease that is renewed") {
  World world;
  world.processes.living.push_back({{100, 1}, false});
  world.at(1s, [&] { world.say({"started", {{"pid", "100"}}}); });
  world.at(8s, [&] { world.die(); });
  world.run();
  using Sent = FakeProcesses::Sent;
  CHECK(world.processes.signals == std::vector<Sent>{{8s, 100, SIGTERM}, {8s + kKillAfter, 100, SIGKILL}});
  CHECK(world.lock.renewals == std::vector<Duration>{10s});
  REQUIRE(world.lock.releases.size() == 1);
  CHECK(world.lock.releases[0] - 13s < 20ms);
}

TEST_CASE("KILL does not wait when the lease is about to end, and no attempt to renew delays it") {
  World world;
  world.processes.living.push_back({{100, 1}, false});
  world.lock.renew = [&](Control&, TimePoint until) {
    world.clock.advance(until - world.clock.now());
    return RenewalUnknown{"no answer"};
  };
  world.spec.kill_after = 15s;
  world.at(1s, [&] { world.say({"started", {{"pid", "100"}}}); });
  world.at(24s, [&] { world.die(); });
  world.run();
  const TimePoint due = kill_at(lease_deadline(FakeClock::start(), kTtl), kTtl);
  REQUIRE(world.processes.signals.size() == 2);
  CHECK(world.processes.signals[1].number == SIGKILL);
  CHECK(world.processes.signals[1].at == due - FakeClock::start());
}

TEST_CASE("Orphans under a lease that the store took away are killed at once, and nothing is given back") {
  World world;
  world.processes.living.push_back({{100, 1}, false});
  world.spec.kill_after = 15s;
  world.lock.renew = [](Control&, TimePoint) { return RenewalLost{"it is held by ci-4"}; };
  world.at(1s, [&] { world.say({"started", {{"pid", "100"}}}); });
  world.at(8s, [&] { world.die(); });
  world.run();
  REQUIRE(world.processes.signals.size() == 2);
  CHECK(world.processes.signals[1].number == SIGKILL);
  CHECK(world.processes.signals[1].at - 10s < 60ms);
  CHECK(world.lock.releases.empty());
}

TEST_CASE("What may not be ended is outlived: the lease is renewed until it has gone") {
  World world;
  world.processes.living.push_back({{100, 1}, false, true});
  world.at(1s, [&] { world.say({"started", {{"pid", "100"}}}); });
  world.at(4s, [&] { world.die(); });
  world.at(2h + 3s, [&] { world.processes.end(100); });
  world.run();
  CHECK(world.lock.renewals.size() == 720);
  REQUIRE(world.lock.releases.size() == 1);
  CHECK(world.lock.releases[0] - (2h + 3s) < 120ms);
}

TEST_CASE("A process that appears between two looks gets its TERM, too") {
  World world;
  world.processes.living.push_back({{100, 1}, false});
  world.at(1s, [&] { world.say({"started", {{"pid", "100"}}}); });
  world.at(4s, [&] { world.die(); });
  world.at(5s, [&] { world.processes.living.push_back({{102, 9}}); });
  world.at(6s, [&] { world.processes.end(100); });
  world.run();
  REQUIRE(world.processes.signals.size() == 2);
  CHECK(world.processes.signals[1].pid == 102);
  CHECK(world.processes.signals[1].number == SIGTERM);
}

TEST_CASE("A command that had ended before it was looked at may have left others behind") {
  World world;
  world.processes.living.push_back({{101, 1}});
  world.at(4s, [&] {
    world.say({"started", {{"pid", "100"}}});
    world.die();
  });
  world.run();
  CHECK(world.processes.signals == std::vector<FakeProcesses::Sent>{{4s, 101, SIGTERM}});
  CHECK(world.lock.releases.size() == 1);
}

TEST_CASE("A pid that is not our command's is left alone") {
  World world;
  world.processes.living.push_back({.id = {100, 1}, .marked = false});
  world.processes.stranger = 100;
  world.at(1s, [&] { world.say({"started", {{"pid", "100"}}}); });
  world.at(4s, [&] { world.die(); });
  world.run();
  CHECK(world.processes.signals.empty());
  REQUIRE(world.lock.releases.size() == 1);
  CHECK(world.lock.releases[0] - 4s < 20ms);
}

TEST_CASE("Under a hold that was only entered again, the marks of the outer hold are nobody's to end") {
  World world;
  world.lock.acquire = [&](Control&) {
    Granted granted = world.grant();
    granted.locks[0].reentered = true;
    return std::variant<Granted, Refused>(granted);
  };
  world.processes.living.push_back({{100, 1}});
  world.processes.living.push_back({{101, 1}});
  world.at(1s, [&] { world.say({"started", {{"pid", "100"}}}); });
  world.at(4s, [&] { world.die(); });
  world.run();
  CHECK(world.processes.asked_for == "");
  CHECK(world.processes.signals == std::vector<FakeProcesses::Sent>{{4s, 100, SIGTERM}});
}

TEST_CASE("A detached lock is renewed until the watched process has ended, and then given back") {
  World world;
  world.processes.living.push_back({{200, 1}});
  world.at(1s, [&] { world.say({"detach", {{"ttl", "30000000000"}, {"pid", "200"}}}); });
  world.at(2s, [&] { world.die(); });
  world.at(1h + 5s, [&] { world.processes.end(200); });
  world.run();
  CHECK(world.heard<Released>()[0].first == 1s);  // the answer comes first
  CHECK(world.processes.streams_closed);
  CHECK(world.processes.signals.empty());
  CHECK(world.lock.renewals.size() == 360);
  CHECK(world.lock.releases == std::vector<Duration>{1h + 5s});
}

TEST_CASE("A lock that is to be detached for a process that has ended already is not, and is given back") {
  World world;
  world.at(1s, [&] { world.say({"detach", {{"ttl", "30000000000"}, {"pid", "200"}}}); });
  world.run();
  CHECK(world.last_word_is<ReleaseUnconfirmed>());
  CHECK(world.lock.releases == std::vector<Duration>{1s});
}

TEST_CASE("A lock that is detached for a time is left to the store") {
  World world;
  world.at(1s, [&] { world.say({"detach", {{"ttl", "60000000000"}}}); });
  world.run();
  CHECK(world.lock.leaves == std::vector<Duration>{60s});
  CHECK(world.last_word_is<Released>());
  CHECK(world.lock.releases.empty());
  CHECK(world.ended >= 1s);
  CHECK(world.ended <= 1s + kLastWordToEnd);
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
