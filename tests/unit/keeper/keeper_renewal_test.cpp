// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/unit/keeper/keeper_world.h"

namespace keeper_renewal_test {

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

namespace {

void stop_after_start(World& world) {
  world.at(1s, [&] {
    world.say_started();
    world.deaf = true;
  });
}

}  // namespace

TEST_CASE("A supervisor that has read nothing for a day learns of the latest renewal, and of it before anything else") {
  World world;
  stop_after_start(world);
  SUBCASE("the lock is held") {
    world.at(24h + 5s, [&] { world.deaf = false; });
    world.at(24h + 6s, [&] { world.say_release(); });
    world.run();
    CHECK(world.last_word_is<Released>());
  }
  SUBCASE("the lock is lost") {
    world.lock.renew = [&](Control&, TimePoint) -> Renewal {
      if (world.clock.since_start() > 24h) return RenewalLost{"taken"};
      return RenewalRenewed{lease_deadline(world.clock.now(), kTtl)};
    };
    world.at(24h + 11s, [&] { world.deaf = false; });
    world.at(24h + 12s, [&] { world.die(); });
    world.run();
    CHECK(world.last_word_is<Lost>());
  }
  const auto renewed = world.heard<Renewed>();
  REQUIRE(world.more_follows.size() == 1);
  REQUIRE(renewed.size() == world.more_follows.front() + 1);
  CHECK(renewed.back().second.deadline == lease_deadline(FakeClock::start() + 24h, kTtl));
}

TEST_CASE("News of the moment does not take the room that the renewals need") {
  World world;
  stop_after_start(world);
  int times = 0;
  world.lock.renew = [&](Control&, TimePoint) -> Renewal {
    if (world.clock.since_start() >= 12h) return RenewalRenewed{lease_deadline(world.clock.now(), kTtl)};
    if (++times % 2 == 0) return RenewalRenewed{lease_deadline(world.clock.now(), kTtl)};
    return RenewalUnknown{std::string(2000, static_cast<char>('a' + times % 26))};
  };
  world.at(24h, [&] { world.deaf = false; });
  world.at(24h + 1s, [&] { world.say_release(); });
  world.run();
  CHECK(world.more_follows.size() == 1);
  CHECK(world.heard<Renewed>().back().second.deadline > FakeClock::start() + 24h);
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

TEST_CASE(
    "When the connection ends that would have told of a loss, a renewal asks at once, and until there is an answer") {
  World world;
  int ended = 1;
  world.lock.wake_at = FakeClock::start() + 13s;
  world.lock.held = [&](TimePoint) -> Renewal {
    world.lock.wake_at.reset();
    if (ended-- > 0) return RenewalDue{"redis://h closed the connection"};
    return RenewalHeld{};
  };
  bool back = true;
  SUBCASE("the lock is still there") {}
  SUBCASE("the server has forgotten it") { back = false; }
  int failures = 2;
  world.lock.renew = [&](Control&, TimePoint) -> Renewal {
    if (world.clock.since_start() >= 13s && failures-- > 0) return RenewalUnknown{"connection refused"};
    if (!back && failures < 0) return RenewalLost{"it is not there any more"};
    return RenewalRenewed{lease_deadline(world.clock.now(), kTtl)};
  };
  world.at(16s, [&] { world.say_release(); });
  world.run();
  CHECK(world.lock.renewals == std::vector<Duration>{10s, 13s, 14s, 15s});
  CHECK(world.heard<Lost>().size() == (back ? 0 : 1));
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

TEST_CASE("A renewal that was given up for a release is nothing to tell of") {
  World world;
  world.lock.renew = [&](Control& control, TimePoint) -> Renewal {
    world.say_release();
    CHECK(control.stop_requested());
    return RenewalUnknown{"given up on request"};
  };
  world.run();
  CHECK(world.heard<Unrenewed>().empty());
  CHECK(world.last_word_is<Released>());
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

TEST_CASE("Where the store gives less than the ttl, the keeper kills as late as that lease allows, and not later") {
  constexpr Duration kLease = 2s;
  World world;
  world.lock.acquire = [&](Control&) {
    Granted granted = world.grant();
    granted.deadline = lease_deadline(world.clock.now(), kLease);
    granted.lease = kLease;
    return std::variant<Granted, Refused>(granted);
  };
  TimePoint last;
  world.lock.renew = [&](Control&, TimePoint) -> Renewal {
    if (world.clock.since_start() >= 9s) return RenewalUnknown{"no answer"};
    return RenewalRenewed{last = lease_deadline(world.clock.now(), kLease)};
  };
  world.processes.living.push_back({{100, 1}, false});
  world.at(100ms, [&] { world.say_started(); });
  Duration margin = kill_margin(kLease);
  SUBCASE("for a supervisor that does not act") {
    world.at(2h, [] {});
    margin /= 2;
  }
  SUBCASE("after one that has died") {
    world.spec.kill_after = 15s;
    world.at(9100ms, [&] { world.die(); });
  }
  world.run();
  REQUIRE_FALSE(world.processes.signals.empty());
  CHECK(world.processes.signals.back() == FakeProcesses::Sent{last - margin - FakeClock::start(), 100, SIGKILL});
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

}  // namespace keeper_renewal_test
