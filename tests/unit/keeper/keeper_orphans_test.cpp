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

TEST_CASE("What is left of a dead supervisor's command is ended, and then the lock is given back") {
  World world;
  world.processes.living.push_back({{100, 1}});
  world.processes.living.push_back({{101, 1}});
  world.at(1s, [&] { world.say_started(); });
  world.at(4s, [&] { world.die(); });
  world.run();
  using Sent = FakeProcesses::Sent;
  CHECK(world.processes.signals == std::vector<Sent>{{4s, 100, SIGTERM}, {4s, 101, SIGTERM}});
  CHECK(world.processes.streams_closed);
  REQUIRE(world.lock.releases.size() == 1);
  CHECK(world.lock.releases[0] - 4s < 20ms);
}

TEST_CASE("The lock is given back only after the last process has ended, and within milliseconds of that") {
  World world;
  world.processes.living.push_back({{100, 1}, false});
  world.at(1s, [&] { world.say_started(); });
  world.at(4s, [&] { world.die(); });
  world.at(6s, [&] { world.processes.end(100); });
  world.run();
  CHECK(world.processes.signals == std::vector<FakeProcesses::Sent>{{4s, 100, SIGTERM}});
  REQUIRE(world.lock.releases.size() == 1);
  CHECK(world.lock.releases[0] >= 6s);
  CHECK(world.lock.releases[0] < 6s + 20ms);
}

TEST_CASE("A process that does not obey TERM is killed after kill_after, under a lease that is renewed") {
  World world;
  world.processes.living.push_back({{100, 1}, false});
  world.at(1s, [&] { world.say_started(); });
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
  world.at(1s, [&] { world.say_started(); });
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
  world.at(1s, [&] { world.say_started(); });
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
  world.at(1s, [&] { world.say_started(); });
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
  world.at(1s, [&] { world.say_started(); });
  world.at(4s, [&] { world.die(); });
  world.at(5s, [&] { world.processes.living.push_back({{102, 9}}); });
  world.at(6s, [&] { world.processes.end(100); });
  world.run();
  REQUIRE(world.processes.signals.size() == 2);
  CHECK(world.processes.signals[1].pid == 102);
  CHECK(world.processes.signals[1].number == SIGTERM);
}

TEST_CASE("Where /proc does not show it the command alone is ended, through its guard") {
  World world;
  world.processes.shown = false;
  world.processes.living.push_back({{100, 1}, false});
  world.at(1s, [&] { world.say_started(); });
  world.at(4s, [&] { world.die(); });
  world.run();
  using Sent = FakeProcesses::Sent;
  CHECK(world.processes.signals == std::vector<Sent>{{4s, 100, SIGTERM}, {4s + kKillAfter, 100, SIGKILL}});
  CHECK(world.lock.releases.size() == 1);
}

TEST_CASE("Where nothing that could be ended was started, nobody is looked for") {
  World world;
  world.at(1s, [&] { world.say({"started", {}}); });
  world.at(4s, [&] { world.die(); });
  CHECK(world.run() == 0);
  CHECK_FALSE(world.processes.looked);
  CHECK(world.lock.releases == std::vector<Duration>{4s});
}

TEST_CASE("Why the lock of a dead supervisor is still held is said, once, where it can be") {
  World world;
  const UniqueFd said(memfd_create("stderr", MFD_CLOEXEC));
  world.log_to = said.get();
  world.style = {};
  world.processes.living.push_back({{100, 1}, false, true});
  world.at(1s, [&] { world.say_started(); });
  world.at(4s, [&] { world.die(); });
  world.at(20s, [&] { world.processes.end(100); });
  world.run();
  CHECK(world.lock.releases.size() == 1);
  char text[512] = {};
  CHECK(pread(said.get(), text, sizeof text - 1, 0) > 0);
  CHECK(std::string(text) ==
        "dlock: k: may not end process 100, which the command started as another user; the lock is kept until it has "
        "ended\n");
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

TEST_CASE("A supervisor that does not act when no renewal comes: the command is killed before the lease ends") {
  World world;
  bool silent = false;
  SUBCASE("") {}
  SUBCASE("each attempt to renew lasts for as long as it may") { silent = true; }
  world.lock.renew = [&](Control&, TimePoint until) {
    if (silent) world.clock.advance(until - world.clock.now());
    return RenewalUnknown{"no answer"};
  };
  run_command(world);
  world.at(2h, [] {});  // stopped
  world.run();
  const TimePoint deadline = lease_deadline(FakeClock::start(), kTtl);
  CHECK(world.processes.signals == std::vector<Sent>{{deadline - kHalfMargin - FakeClock::start(), 100, SIGKILL}});
  CHECK(world.last_word_is<Lost>());
  CHECK(world.heard<Lost>().size() == 1);
  CHECK(world.lock.releases.size() == 1);  // it may still be there
}

TEST_CASE("A supervisor that does not act when the lock is taken away: the command is killed after kill_after") {
  World world;
  take_away(world);
  run_command(world);
  world.at(2h, [] {});
  world.run();
  CHECK(world.processes.signals == std::vector<Sent>{{10s + kKillAfter + kHalfMargin, 100, SIGKILL}});
  CHECK(world.heard<Lost>().size() == 1);
  CHECK(world.lock.releases.empty());
}

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

TEST_CASE("A supervisor that dies while it ends a lost command: what is left of that is killed at once") {
  World world;
  take_away(world);
  run_command(world);
  world.at(11s, [&] { world.die(); });
  world.run();
  CHECK(world.processes.signals == std::vector<Sent>{{11s, 100, SIGKILL}});
  CHECK(world.lock.releases.empty());
}

TEST_CASE("A command that is meant to outlive a loss is nobody's to end") {
  World world;
  world.spec.ends_command = false;
  run_command(world);
  SUBCASE("taken away") { take_away(world); }
  SUBCASE("not renewed") { world.lock.renew = no_answer; }
  world.at(2h, [] {});
  world.run();
  CHECK(world.processes.signals.empty());
  CHECK(world.last_word_is<Lost>());
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

TEST_CASE("A supervisor that dies after its lock was asked for: what is left of its command is ended") {
  World world;
  run_command(world);
  ask_for(world);
  world.at(4s, [&] { world.die(); });
  world.run();
  CHECK(world.processes.signals == std::vector<Sent>{{4s, 100, SIGTERM}, {4s + kKillAfter, 100, SIGKILL}});
  REQUIRE(world.lock.releases.size() == 1);
  CHECK(world.lock.releases[0] - 9s < 20ms);
}

TEST_CASE("A supervisor that does not act when its lock is asked for: the command is killed, the lock given back") {
  World world;
  run_command(world);
  ask_for(world);
  world.at(2h, [] {});
  world.run();
  CHECK(world.processes.signals == std::vector<Sent>{{3s + kKillAfter + kHalfMargin, 100, SIGKILL}});
  CHECK(world.lock.releases.size() == 1);
  CHECK(world.last_word_is<Released>());
}

}  // namespace keeper_orphans_test
