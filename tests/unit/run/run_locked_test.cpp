// SPDX-License-Identifier: Apache-2.0
#include "lib/run/run_locked.h"

#include <doctest/doctest.h>
#include <signal.h>

#include "tests/support/scripted_world.h"

namespace run_locked_test {

using namespace dlock;
using namespace dlock::testing;
using namespace std::chrono_literals;

TEST_CASE("The deadline counts from the send, not from the answer") {
  ScriptedWorld world;
  world.grant(0s, 12s);  // an answer that took 0.4 ttl
  world.command.obeys_after = std::nullopt;
  world.run();
  REQUIRE(world.command.ended_at);
  CHECK(*world.command.ended_at < 30s);
}

TEST_CASE("After a pause longer than the ttl the loss is seen at once, also behind a renewal that is over by now") {
  ScriptedWorld world;
  world.grant(0s, 1ms);
  // The machine stops at 5 s and goes on at 95 s, with a renewal in the socket that was sent in time.
  world.at(5s, [&] {
    world.clock.advance(90s);
    world.session.push(Renewed{world.deadline(60s)});
  });
  const SupervisorState s = world.run();
  CHECK(s.outcome == Outcome::kLost);
  CHECK(world.command.sent.front() == ScriptedWorld::Sent{SIGKILL, true, 95s});
}

TEST_CASE("After ^Z the clock and the keeper are heard before the end of a command that did not stop") {
  const auto before = ::signal(SIGTSTP, SIG_IGN);  // nothing stops the test itself
  ScriptedWorld world;
  world.grant(0s, 1ms);
  world.signal(5s, {SIGTSTP, 1, false});
  bool renewed = false;
  world.command.on_stop = [&] {
    world.clock.advance(90s);
    if (renewed) world.session.push(Renewed{world.deadline(85s)});
    world.command.exit(0);
  };
  SUBCASE("its lease has ended meanwhile") {
    const SupervisorState s = world.run();
    CHECK(s.outcome == Outcome::kLost);
    CHECK(s.command_status == 0);
    CHECK(world.observer.losses.size() == 1);
  }
  SUBCASE("a keeper that was not stopped has renewed it") {
    renewed = true;
    CHECK(world.run().outcome == Outcome::kRan);
    CHECK(world.observer.losses.empty());
  }
  ::signal(SIGTSTP, before);
}

TEST_CASE("After a stop longer than the ttl the renewals of the keeper, which was not stopped, are heard first") {
  ScriptedWorld world;
  world.grant(0s, 1ms);
  world.command.runs_for = 100s;
  world.at(5s, [&] {
    world.clock.advance(90s);
    world.session.push(Renewed{world.deadline(60s)});
    world.session.push(Renewed{world.deadline(94s)});
  });
  const SupervisorState s = world.run();
  CHECK(s.outcome == Outcome::kRan);
  CHECK(world.command.sent.empty());
}

TEST_CASE("A lock without a deadline is held for years without a single wake-up") {
  ScriptedWorld world;
  world.grant_without_deadline(1ms);
  world.command.runs_for = 24h * 365 * 3;
  const SupervisorState s = world.run();
  CHECK(s.outcome == Outcome::kRan);
  CHECK(world.clock.waits < 10);
}

TEST_CASE("A signal that comes with the grant is for us: nothing is started") {
  ScriptedWorld world;
  world.grant(0s, 1s);
  world.signal(1s, {SIGINT, 0, true});
  const SupervisorState s = world.run();
  CHECK(s.outcome == Outcome::kInterrupted);
  CHECK(s.die_of == SIGINT);
  CHECK_FALSE(world.command.started_at);
  CHECK(world.session.asked.back() == "release");
}

TEST_CASE("A terminal's signal is passed on to a command that has left our process group") {
  for (const bool in_our_group : {true, false}) {
    ScriptedWorld world;
    world.grant(0s, 1ms);
    world.renew(9s, 9s);
    world.command.in_our_group = in_our_group;
    world.signal(4s, {SIGINT, 0, true});
    world.at(5s, [&] { world.command.exit(0); });
    world.run();
    CHECK(world.command.sent.size() == (in_our_group ? 0 : 1));
  }
}

TEST_CASE("The command is ended before anybody is told why, who may not read") {
  ScriptedWorld world;
  world.grant(0s, 1ms);
  std::size_t sent = 0;
  world.observer.on_loss = [&] { sent = world.command.sent.size(); };
  CHECK(world.run().outcome == Outcome::kLost);
  CHECK(sent == 1);
}

TEST_CASE("A signal that comes with the command's end is not a reason to lose its status") {
  ScriptedWorld world;
  world.grant(0s, 1ms);
  world.at(4s, [&] {
    world.signals.queue.push_back({SIGINT, 0, true});
    world.command.exit(3 << 8);
  });
  const SupervisorState s = world.run();
  CHECK(s.outcome == Outcome::kRan);
  CHECK(s.command_status == 3 << 8);
}

TEST_CASE("A guard that is killed takes what is left of the command with it before the lock is free") {
  ScriptedWorld world;
  world.grant(0s, 1ms);
  world.command.stray = true;
  world.at(4s, [&] { world.command.exit(SIGKILL, true); });
  const SupervisorState s = world.run();
  CHECK(world.command.sent == std::vector<ScriptedWorld::Sent>{{SIGKILL, true, 4s}});
  CHECK_FALSE(world.command.stray);
  CHECK(world.session.released_at == 4s);
  CHECK(s.outcome == Outcome::kRan);
}

TEST_CASE("--on-lost signal: a lock that was asked for is released when what the command has started has ended, too") {
  ScriptedWorld world;
  world.policy.on_lost = {OnLost::Kind::kSignal, SIGUSR1};
  world.grant_without_deadline(1ms);
  world.command.stray = true;
  world.command.runs_for = 2s;
  world.at(1s, [&] { world.session.push(Lost{{}, false, "bob"}); });
  world.at(4s, [&] {
    world.command.stray = false;
    world.signals.queue.push_back({SIGCHLD, 0, false});
  });
  const SupervisorState s = world.run();
  CHECK(world.command.sent == std::vector<ScriptedWorld::Sent>{{SIGUSR1, true, 1s}});
  CHECK(world.session.released_at == 4s);
  CHECK(s.outcome == Outcome::kLost);
  CHECK_FALSE(world.gave_up);
}

TEST_CASE("How the command ended under the lock is told before the release, and never after a loss") {
  SUBCASE("it ended by itself") {
    ScriptedWorld world;
    world.grant(0s, 1ms);
    world.command.runs_for = 2s;
    world.run();
    CHECK(world.session.told_status == 0);
    CHECK(world.session.released_at == world.command.ended_at);
  }
  SUBCASE("it was ended because no renewal came") {
    ScriptedWorld world;
    world.grant(0s, 1ms);
    const SupervisorState s = world.run();
    CHECK(s.outcome == Outcome::kLost);
    CHECK_FALSE(world.session.told_status);
  }
  SUBCASE("it went on after a loss") {
    ScriptedWorld world;
    world.policy.on_lost = {OnLost::Kind::kSignal, SIGUSR1};
    world.grant(0s, 1ms);
    world.at(1s, [&] { world.session.push(Lost{"somebody took it"}); });
    world.command.runs_for = 2s;
    world.run();
    CHECK_FALSE(world.session.told_status);
  }
}

}  // namespace run_locked_test
