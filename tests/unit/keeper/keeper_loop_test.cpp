// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <map>
#include <stdexcept>

#include "tests/unit/keeper/keeper_world.h"

namespace keeper_loop_test {

using namespace dlock;
using namespace dlock::testing;
using namespace dlock::testing::keeper;
using namespace std::chrono_literals;

TEST_CASE("A grant that nobody takes up for a ttl, because the supervisor is stopped, is given back and lost") {
  World world;
  world.stopped = true;
  CHECK(world.run() == 0);
  CHECK(world.heard<Granted>().size() == 1);
  CHECK(world.asked_there == std::vector<Duration>{kTtl / 2});
  CHECK(world.last_word_is<Lost>());
  CHECK(world.lock.releases == std::vector<Duration>{kTtl});
}

TEST_CASE("A grant is kept for a supervisor that has taken it up, or says that it is there") {
  World world;
  SUBCASE("started, and then stopped") {
    world.at(kTtl - 1s, [&] { world.say({"started", {}}); });
  }
  SUBCASE("stopped for less than a ttl at a time") {
    world.at(kTtl - 1s, [&] { world.say({"who", {}}); });
    world.at(kTtl * 2 - 2s, [&] { world.say({"who", {}}); });
    world.at(kTtl * 3 - 3s, [&] { world.say({"started", {}}); });
  }
  world.stopped = true;
  world.at(1h, [&] { world.say_release(); });
  CHECK(world.run() == 0);
  CHECK(world.last_word_is<Released>());
  CHECK(world.lock.releases == std::vector<Duration>{1h});
}

TEST_CASE("A grant of which little is left is renewed before it is told") {
  World world;
  Duration left{};
  Duration told{};
  world.lock.acquire = [&](Control&) {
    Granted granted = world.grant();
    granted.deadline = world.clock.now() + left;
    return std::variant<Granted, Refused>(granted);
  };
  SUBCASE("enough is left") { left = told = kTtl * 2 / 3; }
  SUBCASE("too little") {
    left = kTtl * 2 / 3 - 1ms;
    told = lease_deadline(FakeClock::start(), kTtl) - FakeClock::start();
  }
  SUBCASE("too little, and the renewal is not confirmed") {
    left = told = kTtl / 2;
    world.lock.renew = no_answer;
  }
  world.at(1ms, [&] { world.say_release(); });
  CHECK(world.run() == 0);
  REQUIRE(world.heard<Granted>().size() == 1);
  CHECK(world.heard<Granted>().front().second.deadline == FakeClock::start() + told);
  CHECK(world.last_word_is<Released>());
}

TEST_CASE("A grant that turns out to be lost when it is renewed before it is told is only lost") {
  World world;
  world.lock.acquire = [&](Control&) {
    Granted granted = world.grant();
    granted.deadline = world.clock.now() + 1s;
    return std::variant<Granted, Refused>(granted);
  };
  world.lock.renew = [](Control&, TimePoint) { return RenewalLost{"deleted"}; };
  CHECK(world.run() == 0);
  CHECK(world.heard<Granted>().empty());
  CHECK(world.last_word_is<Lost>());
}

TEST_CASE("A lock that was given back while others are inside it is renewed for them, alone, until the last has left") {
  World world;
  UniqueFd inner;
  world.at(1s, [&] { world.enter(inner, world.spec); });
  world.at(2s, [&] {
    const auto told = World::heard_inside(inner);
    REQUIRE(told.size() == 1);
    const auto& granted = std::get<Granted>(told.front());
    CHECK(granted.locks.front().reentered);
    CHECK(granted.locks.front().owner == world.spec.owner);
    CHECK(granted.lease == kTtl);
  });
  SUBCASE("the supervisor gives it back") {
    world.at(25s, [&] { world.say_release(); });
    world.at(26s, [&] {
      CHECK(world.last_word_is<Released>());
      world.die();
    });
  }
  SUBCASE("it died, and nothing is left of its command") {
    world.at(25s, [&] { world.die(); });
  }
  world.at(65s, [&] { world.say_inside(inner, deadline_message("release", world.clock.now() + 3s)); });
  world.run();
  CHECK(world.lock.releases == std::vector<Duration>{65s});
  CHECK(world.lock.renewals == std::vector<Duration>{10s, 20s, 30s, 40s, 50s, 60s});
  CHECK(world.processes.streams_closed);
  CHECK(world.heard<Lost>().empty());
  const auto told = World::heard_inside(inner);
  REQUIRE(told.size() == 7);
  CHECK(std::holds_alternative<Renewed>(told.front()));
  CHECK(std::holds_alternative<Released>(told.back()));
}

TEST_CASE("A run inside that leaves, or is told that it may not enter, leaves the hold as it is") {
  World world;
  world.spec.mode = Mode::kShared;
  UniqueFd first;
  UniqueFd second;
  UniqueFd stranger;
  world.at(1s, [&] { world.enter(first, world.spec); });
  world.at(2s, [&] {
    LockSpec exclusive = world.spec;
    exclusive.mode = Mode::kExclusive;
    world.enter(second, exclusive);
    LockSpec other = world.spec;
    other.ancestor = HeldClaim{world.spec.owner, FencingToken(7), Owner::random().text()};
    world.say_inside(stranger, acquire_message(*BackendUrl::parse("redis://h"), other, world.style));
  });
  world.at(3s, [&] { world.say_inside(first, deadline_message("release", world.clock.now() + 3s)); });
  world.at(4s, [&] {
    const auto told = World::heard_inside(first);
    REQUIRE(told.size() == 2);
    CHECK(std::holds_alternative<Released>(told.back()));
    const auto refused = World::heard_inside(second);
    REQUIRE(refused.size() == 1);
    CHECK(std::get<Refused>(refused.front()).error.code == ErrorCode::kUnsupported);
    CHECK(World::heard_inside(stranger).empty());
  });
  world.at(5s, [&] { world.say_release(); });
  world.run();
  CHECK(world.last_word_is<Released>());
  CHECK(world.lock.releases == std::vector<Duration>{5s});
}

TEST_CASE("The command of a run inside is ended when the hold is lost and that run is stopped, and when it is killed") {
  World world;
  world.processes.living = {{{11, 1}}};
  UniqueFd inner;
  UniqueFd life = std::move(*world.processes.watch(0));
  world.at(1s, [&] { world.enter(inner, world.spec); });
  world.at(2s, [&] { world.say_inside(inner, {"started", {}}, life.get()); });
  world.at(3s, [&] { world.say({"started", {}}); });
  SUBCASE("lost") {
    world.lock.renew = [](Control&, TimePoint) { return RenewalLost{"deleted"}; };
    world.run();
    const auto told = World::heard_inside(inner);
    REQUIRE(told.size() == 2);
    CHECK(std::get<Lost>(told.back()).final);
    REQUIRE(world.processes.signals.size() == 1);
    CHECK(world.processes.signals.front().at == kInterval + kKillAfter + kill_margin(kTtl) / 2);
    CHECK(world.processes.signals.front().number == SIGKILL);
    CHECK(world.lock.releases.empty());
  }
  SUBCASE("killed") {
    world.at(4s, [&] { inner.reset(); });
    world.at(6s, [&] { world.say_release(); });
    world.run();
    REQUIRE(world.processes.signals.size() == 1);
    CHECK(world.processes.signals.front().at == 4s);
    CHECK(world.processes.signals.front().number == SIGTERM);
    CHECK(world.lock.releases == std::vector<Duration>{6s});
  }
}

TEST_CASE("A release that crosses a renewal ends its wait, and is answered at once") {
  World world;
  world.lock.renew = [&](Control& control, TimePoint) -> Renewal {
    CHECK_FALSE(control.stop_requested());
    world.clock.advance(300ms);
    world.say_release();
    CHECK(control.stop_requested());
    return RenewalUnknown{"interrupted"};
  };
  TimePoint until{};
  world.lock.release = [&](TimePoint by) {
    until = by;
    return Result<void>();
  };
  world.run();
  CHECK(world.lock.releases == std::vector<Duration>{10s + 300ms});
  CHECK(until == FakeClock::start() + 13s + 300ms);
  CHECK(world.last_word_is<Released>());
}

TEST_CASE("A release that was not confirmed in time is said to be so, and repeated until the lease is over") {
  World world;
  std::vector<TimePoint> limits;
  world.lock.release = [&](TimePoint until) {
    limits.push_back(until);
    world.clock.advance(until - world.clock.now());
    return Result<void>(Error{ErrorCode::kUnavailable, "cut"});
  };
  world.at(1s, [&] { world.say_release(); });
  world.run();
  CHECK(limits == std::vector{FakeClock::start() + 4s, lease_deadline(FakeClock::start(), kTtl)});
  CHECK(world.last_word_is<ReleaseUnconfirmed>());
  CHECK(world.processes.streams_closed);
}

TEST_CASE("A grant that crosses a withdraw is given back, and only withdrawn is said") {
  World world;
  world.lock.acquire = [&](Control&) {
    world.say(deadline_message("withdraw", world.clock.now() + 1s));
    return std::variant<Granted, Refused>(world.grant());
  };
  SUBCASE("confirmed") {}
  SUBCASE("not confirmed: it leaves by itself") {
    world.lock.release = [](TimePoint) { return Result<void>(Error{ErrorCode::kUnavailable, "cut"}); };
  }
  world.run();
  CHECK(world.words() == 1);
  CHECK(world.last_word_is<Withdrawn>());
  CHECK(world.lock.releases == std::vector<Duration>{0s});
}

TEST_CASE("The question for whom we wait reaches the lock that waits") {
  World world;
  world.lock.acquire = [&](Control& control) -> std::variant<Granted, Refused> {
    CHECK_FALSE(control.take_who());
    world.say({"who", {}});
    CHECK(control.take_who());
    CHECK_FALSE(control.take_who());
    CHECK_FALSE(control.stop_requested());
    control.tell(Waiting{{world.spec.name, "mem://x", Mode::kExclusive, 0, {}, {}}});
    return Refused{{ErrorCode::kBusy, "held"}, std::nullopt};
  };
  world.run();
  CHECK(world.heard<Waiting>().size() == 1);
  CHECK(world.last_word_is<Refused>());
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

TEST_CASE("A detached lock whose handle reached nobody is given back, also one that is kept for a process") {
  World world;
  world.processes.living.push_back({{200, 1}});
  std::map<std::string, std::string> fields{{"ttl", "60000000000"}};
  SUBCASE("a lease") {}
  SUBCASE("for a process") { fields.emplace("pid", "200"); }
  world.at(1s, [&] { world.say({"detach", fields}); });
  world.at(15s, [&] { world.say_release(); });
  world.run();
  CHECK(world.heard<Released>().size() == 2);
  CHECK(world.lock.releases == std::vector<Duration>{15s});
  CHECK(world.lock.renewals.size() == (fields.contains("pid") ? 1 : 0));
}

TEST_CASE("A lock that cannot be left to the store is given back, when that has been said") {
  World world;
  world.lock.leave = [] { return Error{ErrorCode::kUnavailable, "no answer"}; };
  world.at(1s, [&] { world.say({"detach", {{"ttl", "60000000000"}}}); });
  world.run();
  CHECK(world.last_word_is<ReleaseUnconfirmed>());
  CHECK(world.lock.releases == std::vector<Duration>{1s});
}

TEST_CASE("What makes no sense ends with 70, and says so when it can") {
  World world;
  SUBCASE("another word than acquire") {
    world.say({"hello", {}});
    CHECK(world.run_silent() == 70);
    CHECK(world.words() == 0);
  }
  SUBCASE("an acquire without a name") {
    world.say({"acquire", {{"url", "redis://h"}}});
    CHECK(world.run_silent() == 70);
    CHECK(world.last_word_is<Refused>());
  }
  SUBCASE("later: the lock is kept all the same") {
    world.at(1s, [&] { world.say({"hello", {}}); });
    world.at(35s, [&] { world.say_release(); });
    CHECK(world.run() == 70);
    CHECK(world.lock.renewals.size() == 3);
    CHECK(world.last_word_is<Released>());
  }
}

TEST_CASE("What a lock throws is said with the reason, and ends the keeper: before the grant, and under a hold") {
  World world;
  std::size_t granted = 0;
  const auto burst = [] { throw std::logic_error("a null string"); };
  SUBCASE("before the grant") {
    world.lock.acquire = [&](Control&) -> std::optional<std::variant<Granted, Refused>> {
      burst();
      return std::nullopt;
    };
  }
  SUBCASE("under a hold") {
    granted = 1;
    world.lock.renew = [&](Control&, TimePoint) -> Renewal {
      burst();
      return RenewalHeld{};
    };
  }
  CHECK(world.run() == 70);
  CHECK(world.heard<Granted>().size() == granted);
  const auto gone = world.heard<SessionGone>();
  REQUIRE(gone.size() == 1);
  CHECK(gone[0].second.why == "the keeper of redis://h cannot go on: a null string");
  CHECK(world.last_word_is<SessionGone>());
}

namespace {

/// Answers that nobody reads, and what may not be missed, until there is no room for more.
void fill(Control& control) {
  for (int i = 0; i < 300; ++i) {
    control.tell(Waiting{{.name = *LockName::parse("k"), .store = "mem://x", .holders = {}, .waiters = {}}});
    control.tell(Lost{"asked for", false});
  }
}

}  // namespace

TEST_CASE("A supervisor that did not read while the lock was waited for finds the grant when it reads again") {
  World world;
  world.lock.acquire = [&](Control& control) {
    world.deaf = true;
    fill(control);
    return std::variant<Granted, Refused>(world.grant());
  };
  world.at(10s, [&] { world.deaf = false; });
  world.at(11s, [&] { world.say_started(); });
  world.at(1h, [&] { world.say_release(); });
  CHECK(world.run() == 0);
  REQUIRE(world.heard<Granted>().size() == 1);
  CHECK(world.heard<Granted>()[0].first <= 11s);
  CHECK(world.last_word_is<Released>());
}

TEST_CASE("A last word for which there is no room is said when the supervisor reads again, within a ttl") {
  World world;
  world.lock.acquire = [&](Control& control) {
    world.deaf = true;
    fill(control);
    return std::variant<Granted, Refused>(Refused{{ErrorCode::kBusy, "held"}, std::nullopt});
  };
  SUBCASE("it reads") {
    world.at(20s, [&] { world.deaf = false; });
    CHECK(world.run() == 0);
    CHECK(world.last_word_is<Refused>());
  }
  SUBCASE("it does not") {
    world.at(2h, [&] { world.deaf = false; });
    CHECK(world.run() == 0);
    CHECK(world.ended < kTtl + 1s);
  }
}

}  // namespace keeper_loop_test
