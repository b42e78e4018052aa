// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/lock_session.h"

#include <doctest/doctest.h>

#include "tests/support/command_world.h"

namespace blocking_session_test {

using namespace dlock;
using namespace std::chrono_literals;

TEST_CASE("acquire_and_wait passes over Waiting and ends with Granted") {
  ScriptedSession session;
  LeapingClock clock;
  const LockState busy{.name = lock_name("k"), .store = "", .holders = {}, .waiters = {}};
  session.after_acquire = {Waiting{busy}, Granted{{}, clock.now() + 5s}};
  const auto answer = acquire_and_wait(session, clock);
  REQUIRE(std::holds_alternative<Granted>(answer));
  CHECK(std::get<Granted>(answer).deadline == clock.now() + 5s);
}

TEST_CASE("a session that is gone before it was granted says nothing about the store") {
  ScriptedSession session;
  LeapingClock clock;
  session.after_acquire = {SessionGone{"it died"}};
  const auto answer = acquire_and_wait(session, clock);
  REQUIRE(std::holds_alternative<Refused>(answer));
  CHECK(std::get<Refused>(answer).error.code == ErrorCode::kInternal);
}

TEST_CASE("release_and_wait is bounded, and tells lost from unconfirmed") {
  ScriptedSession session;
  LeapingClock clock;
  CHECK(release_and_wait(session, clock, 5s));
  session.after_release = {Lost{"somebody else has it"}};
  CHECK(release_and_wait(session, clock, 5s).error().code == ErrorCode::kLost);
  session.after_release = {};
  const TimePoint before = clock.now();
  CHECK(release_and_wait(session, clock, 5s).error().code == ErrorCode::kUnavailable);
  CHECK(clock.now() == before + 5s);
}

}  // namespace blocking_session_test
