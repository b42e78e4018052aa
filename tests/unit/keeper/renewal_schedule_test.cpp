// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/renewal_schedule.h"

#include <doctest/doctest.h>

#include "lib/lock/lease.h"

namespace renewal_schedule_test {

using namespace dlock;
using namespace std::chrono_literals;

namespace {

constexpr TimePoint kStart(1000h);

LockSpec spec_of(Duration ttl, Duration interval) {
  LockSpec spec{.name = *LockName::parse("k"), .owner = Owner::random(), .wait = {}, .reason = {}, .ancestor = {}};
  spec.ttl = ttl;
  spec.renew_interval = interval;
  return spec;
}

}  // namespace

TEST_CASE("The next renewal counts from when the confirmed one went out, not from its answer") {
  RenewalSchedule schedule(spec_of(30s, 10s), kStart + 3s, lease_deadline(kStart, 30s));
  CHECK(schedule.due() == kStart + 10s);
  schedule.renewed(kStart + 10s, kStart + 14s, lease_deadline(kStart + 11s, 30s));
  CHECK(schedule.due() == kStart + 21s);
}

TEST_CASE("A store that gave a longer lease than was asked for is renewed no later for that") {
  const RenewalSchedule schedule(spec_of(30s, 10s), kStart, lease_deadline(kStart, 90s));
  CHECK(schedule.due() == kStart + 10s);
}

TEST_CASE("A store that gives less than the ttl is renewed so much more often, and not at once") {
  RenewalSchedule schedule(spec_of(60s, 20s), kStart, lease_deadline(kStart, 60s));
  schedule.renewed(kStart + 20s, kStart + 21s, kStart + 20s + (lease_deadline(kStart, 60s) - kStart) / 2);
  CHECK(schedule.due() == kStart + 30s);
}

TEST_CASE("A store that says that it gives less than the ttl: everything counts in its lease from the start") {
  RenewalSchedule schedule(spec_of(30s, 10s), kStart, lease_deadline(kStart, 3s), 3s);
  CHECK(schedule.due() == kStart + 1s);
  CHECK(schedule.why(kStart + 2s) == "no renewal for 2 s");
  CHECK(schedule.gives_up_at(kStart) == kStart + 500ms);
  schedule.unknown(kStart + 1s, "cut");
  CHECK(schedule.due() == kStart + 1150ms);
  schedule.renewed(kStart + 1150ms, kStart + 1200ms, lease_deadline(kStart + 1150ms, 3s));
  CHECK(schedule.due() == kStart + 2150ms);
}

TEST_CASE("A stubborn store has at least 100 ms for each attempt, however short the lease") {
  const RenewalSchedule schedule(spec_of(300ms, 100ms), kStart, lease_deadline(kStart, 300ms));
  CHECK(schedule.gives_up_at(kStart) == kStart + 100ms);
  CHECK(schedule.gives_up_at(kStart + 250ms) == lease_deadline(kStart, 300ms));
}

TEST_CASE("A lease is over at its deadline, not a moment before") {
  RenewalSchedule schedule(spec_of(30s, 10s), kStart, lease_deadline(kStart, 30s));
  schedule.unknown(kStart + 10s, "cut");
  CHECK(schedule.due() == kStart + 11s);
  CHECK_FALSE(schedule.over(lease_deadline(kStart, 30s) - 1ns));
  const auto why = schedule.over(lease_deadline(kStart, 30s));
  REQUIRE(why);
  CHECK(why->find("cut") != std::string::npos);
  schedule.renewed(kStart + 12s, kStart + 12s, lease_deadline(kStart + 12s, 30s));
  schedule.held(kStart + 20s);
  const auto later = schedule.over(kStart + 1h);
  REQUIRE(later);
  CHECK(later->find("cut") == std::string::npos);  // that was another time
}

TEST_CASE("A lock without a deadline is never over") {
  const RenewalSchedule schedule(spec_of(30s, 10s), kStart, std::nullopt);
  CHECK_FALSE(schedule.over(kStart + 1000h));
}

}  // namespace renewal_schedule_test
