// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <sys/mman.h>

#include <stdexcept>

#include "lib/keeper/shared_deadline.h"
#include "tests/unit/keeper/keeper_world.h"

namespace keeper_loop_test {

using namespace dlock;
using namespace dlock::testing;
using namespace dlock::testing::keeper;
using namespace std::chrono_literals;

TEST_CASE("A lock is renewed on time for half a day, and each renewal is told") {
  World world;
  world.at(12h + 5s, [&] { world.say_release(); });
  CHECK(world.run() == 0);
  REQUIRE(world.lock.renewals.size() == 12 * 360);
  for (std::size_t i = 0; i < world.lock.renewals.size(); ++i) {
    REQUIRE(world.lock.renewals[i] == kInterval * static_cast<int>(i + 1));
  }
  const auto renewed = world.heard<Renewed>();
  REQUIRE(renewed.size() == world.lock.renewals.size());
  CHECK(renewed.back().second.deadline == lease_deadline(FakeClock::start() + 12h, kTtl));
  CHECK(world.lock.releases == std::vector<Duration>{12h + 5s});
  CHECK(world.last_word_is<Released>());
  CHECK_FALSE(world.clock.stuck);
}

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

TEST_CASE("To a supervisor that looks for itself renewals are shown, and everything else is said") {
  World world;
  const auto shared = SharedDeadline::make();
  REQUIRE(shared);
  world.lock.renew = [&](Control&, TimePoint) -> Renewal {
    if (world.clock.since_start() >= 10h) return RenewalUnknown{"cut"};
    return RenewalRenewed{lease_deadline(world.clock.now(), kTtl)};
  };
  world.at(15s, [&] { world.say({"look", {}}, shared->fd()); });
  world.at(25s, [&] { CHECK(shared->shown() == lease_deadline(FakeClock::start() + 20s, kTtl)); });
  world.run();
  CHECK(world.heard<Renewed>().size() == 1);
  CHECK(shared->shown() == lease_deadline(FakeClock::start() + 10h - 10s, kTtl));
  CHECK(world.heard<Unrenewed>().size() == 1);
  CHECK(world.last_word_is<Lost>());
}

TEST_CASE("Where there is nothing to show renewals in they go on being said") {
  World world;
  UniqueFd unsealed;
  SUBCASE("no descriptor") {}
  SUBCASE("one that could be made shorter under the reader") { unsealed = UniqueFd(memfd_create("x", MFD_CLOEXEC)); }
  world.at(15s, [&] { world.say({"look", {}}, unsealed.get()); });
  world.at(45s, [&] { world.say_release(); });
  CHECK(world.run() == 0);
  CHECK(world.heard<Renewed>().size() == 4);
}

TEST_CASE("What was granted reaches the supervisor whole") {
  World world;
  world.at(1s, [&] { world.say_release(); });
  world.run();
  const auto granted = world.heard<Granted>();
  REQUIRE(granted.size() == 1);
  CHECK(granted[0].second.locks[0].owner == world.spec.owner);
  CHECK(granted[0].second.deadline == lease_deadline(FakeClock::start(), kTtl));
}

TEST_CASE("A lease that was sent for long ago is renewed at once") {
  World world;
  world.lock.acquire = [&](Control&) {
    const Granted granted = world.grant();
    world.clock.advance(15s);  // the answer was slow
    return std::variant<Granted, Refused>(granted);
  };
  world.at(16s, [&] { world.say_release(); });
  world.run();
  CHECK(world.lock.renewals == std::vector<Duration>{15s});
}

TEST_CASE("An unknown renewal is tried again every second until it is confirmed, and costs nothing") {
  World world;
  int failures = 4;
  world.lock.renew = [&](Control&, TimePoint) -> Renewal {
    if (failures-- > 0) return RenewalUnknown{"cut"};
    return RenewalRenewed{lease_deadline(world.clock.now(), kTtl)};
  };
  world.at(25s, [&] { world.say_release(); });
  world.run();
  CHECK(world.lock.renewals == std::vector<Duration>{10s, 11s, 12s, 13s, 14s, 24s});
  CHECK(world.heard<Lost>().empty());
  CHECK(world.last_word_is<Released>());
}

TEST_CASE("The supervisor is told why a renewal was not confirmed, once for each reason") {
  World world;
  std::deque<std::string> reasons{"cut", "cut", "slow", "", "cut"};
  world.lock.renew = [&](Control&, TimePoint) -> Renewal {
    const std::string why = reasons.empty() ? "" : reasons.front();
    if (!reasons.empty()) reasons.pop_front();
    if (!why.empty()) return RenewalUnknown{why};
    return RenewalRenewed{lease_deadline(world.clock.now(), kTtl)};
  };
  world.at(26s, [&] { world.say_release(); });
  world.run();
  std::vector<std::string> told;
  for (const auto& [at, unrenewed] : world.heard<Unrenewed>()) told.push_back(unrenewed.why);
  CHECK(told == std::vector<std::string>{"cut", "slow", "cut"});
}

TEST_CASE("One attempt to renew has a sixth of the ttl, and never goes beyond the deadline") {
  World world;
  std::vector<Duration> budgets;
  world.lock.renew = [&](Control&, TimePoint until) {
    budgets.push_back(until - world.clock.now());
    world.clock.advance(until - world.clock.now());
    return RenewalUnknown{"no answer"};
  };
  world.run();
  CHECK(budgets == std::vector<Duration>{5s, 5s, 5s, 4s + 698ms});
  CHECK(world.last_word_is<Lost>());
}

TEST_CASE("Without any renewal the lock is lost at its deadline, with the last reason") {
  World world;
  world.lock.renew = no_answer;
  world.run();
  const auto lost = world.heard<Lost>();
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].first == lease_deadline(TimePoint(), kTtl) - TimePoint());
  CHECK(lost[0].second.why.find("no renewal for 2") == 0);
  CHECK(lost[0].second.why.find("redis://h does not answer") != std::string::npos);
  CHECK(world.ended >= lost[0].first);
  CHECK(world.ended <= lost[0].first + kLastWordToEnd);
}

TEST_CASE("What the store takes away is told at once, whether it was asked or not") {
  World world;
  SUBCASE("by a renewal") {
    world.lock.renew = [](Control&, TimePoint) { return RenewalLost{"it is held by ci-4"}; };
  }
  SUBCASE("by a message of the store") {
    world.lock.wake_at = FakeClock::start() + 10s;
    world.spec.renew_interval = 12s;
    world.lock.held = [](TimePoint) { return RenewalLost{"it is held by ci-4"}; };
  }
  world.run();
  const auto lost = world.heard<Lost>();
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].first == 10s);
  CHECK(lost[0].second.why == "it is held by ci-4");
  CHECK(world.lock.releases.empty());  // it is not ours to give back
}

TEST_CASE("A lock that was given back while others are inside it is renewed for them, alone, until the last has left") {
  World world;
  world.lock.release = [&](TimePoint) {
    world.lock.still_entered = true;
    world.lock.wake_at = FakeClock::start() + 65s;
    return Result<void>();
  };
  world.lock.held = [&](TimePoint) -> Renewal {
    world.lock.wake_at.reset();
    return RenewalLost{"it was given back"};
  };
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
  world.run();
  CHECK(world.lock.releases == std::vector<Duration>{25s});
  CHECK(world.lock.renewals == std::vector<Duration>{10s, 20s, 30s, 40s, 50s, 60s});
  CHECK(world.processes.streams_closed);
  CHECK(world.heard<Lost>().empty());
  CHECK(world.ended >= 65s);
}

TEST_CASE("A keeper that slept past the deadline says lost, whatever the store answers") {
  World world;
  SUBCASE("while it waited") {
    world.at(3s, [&] { world.clock.advance(1h); });
    world.run();
    CHECK(world.lock.renewals.empty());
  }
  SUBCASE("while it renewed") {
    world.lock.renew = [&](Control&, TimePoint) {
      const TimePoint sent = world.clock.now();
      world.clock.advance(1h);
      return RenewalRenewed{lease_deadline(sent + 1h, kTtl)};
    };
    world.run();
  }
  CHECK(world.heard<Renewed>().empty());
  REQUIRE(world.heard<Lost>().size() == 1);
  CHECK(world.heard<Lost>()[0].second.why.find("no renewal for 1 h") == 0);
}

TEST_CASE("A lock that the store keeps for its session is asked about, and has no deadline") {
  World world;
  world.lock.acquire = [&](Control&) {
    Granted granted = world.grant();
    granted.deadline.reset();
    return std::variant<Granted, Refused>(granted);
  };
  world.lock.renew = [&](Control&, TimePoint) -> Renewal {
    if (world.lock.renewals.size() == 2) return RenewalUnknown{"slow"};
    return RenewalHeld{};
  };
  world.at(35s, [&] { world.say_release(); });
  world.run();
  CHECK(world.lock.renewals == std::vector<Duration>{10s, 20s, 21s, 31s});
  CHECK(world.last_word_is<Released>());
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

TEST_CASE("A release is answered as the store answered it") {
  World world;
  world.at(1s, [&] { world.say_release(); });
  SUBCASE("not confirmed") {
    world.lock.release = [](TimePoint) { return Result<void>(Error{ErrorCode::kUnavailable, "cut"}); };
    world.run();
    CHECK(world.last_word_is<ReleaseUnconfirmed>());
  }
  SUBCASE("it was not ours any more") {
    world.lock.release = [](TimePoint) { return Result<void>(Error{ErrorCode::kLost, "held by ci-4"}); };
    world.run();
    CHECK(world.last_word_is<Lost>());
  }
}

TEST_CASE("A withdraw ends the wait for the lock") {
  World world;
  world.lock.acquire = [&](Control& control) {
    world.say(deadline_message("withdraw", world.clock.now() + 1s));
    CHECK(control.stop_requested());
    return std::nullopt;
  };
  CHECK(world.run() == 0);
  CHECK(world.words() == 1);
  CHECK(world.last_word_is<Withdrawn>());
  CHECK(world.lock.releases.empty());
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

TEST_CASE("A withdraw that was sent before the grant arrived gives back, too") {
  World world;
  world.at(10ms, [&] { world.say(deadline_message("withdraw", world.clock.now() + 1s)); });
  world.run();
  CHECK(world.last_word_is<Withdrawn>());
  CHECK(world.lock.releases == std::vector<Duration>{10ms});
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

TEST_CASE("A spec that takes nothing is granted, never renewed, and needs no release") {
  World world;
  world.lock.acquire = [](Control&) { return std::variant<Granted, Refused>(Granted{}); };
  world.at(1h, [&] { world.say_release(); });
  world.run();
  CHECK(world.lock.renewals.empty());
  CHECK(world.lock.releases.empty());
  CHECK(world.last_word_is<Released>());
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
  CHECK(world.run() == 69);
  CHECK(world.heard<Granted>().size() == granted);
  const auto gone = world.heard<SessionGone>();
  REQUIRE(gone.size() == 1);
  CHECK(gone[0].second.why == "the keeper of redis://h cannot go on: a null string");
  CHECK(world.last_word_is<SessionGone>());
}

}  // namespace keeper_loop_test
