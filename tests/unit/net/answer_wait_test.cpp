// SPDX-License-Identifier: Apache-2.0
#include "lib/net/answer_wait.h"

#include <doctest/doctest.h>

#include "tests/support/scripted_control.h"

namespace dlock::testing::answer_wait_test {
namespace {

using namespace std::chrono_literals;

Duration waited_for(FakeClock& clock, std::optional<TimePoint> until, Control* control) {
  const TimePoint begun = clock.now();
  for (AnswerWait wait(clock, until, control); !wait.is_over();) {
    std::vector<pollfd> none;
    wait.poll(none, clock.now() + 250ms);
  }
  return clock.now() - begun;
}

TEST_CASE("an answer is waited for until its time is over, and no longer than 400 ms after a stop") {
  FakeClock clock;
  CHECK(waited_for(clock, clock.now() + 5s, nullptr) == 5s);
  ScriptedControl control(clock);
  CHECK(waited_for(clock, clock.now() + 5s, &control) == 5s);
  control.stop_at = clock.now() + 1200ms;
  CHECK(waited_for(clock, std::nullopt, &control) == 1600ms);
  CHECK(waited_for(clock, clock.now() + 300ms, &control) == 300ms);  // the stop makes nothing longer
}

TEST_CASE("what has come already is taken before a stop is looked at") {
  FakeClock clock;
  ScriptedControl control(clock);
  control.stop_at = clock.now();
  AnswerWait wait(clock, clock.now() + 5s, &control);
  CHECK_FALSE(wait.is_over());
  CHECK_FALSE(wait.is_stopped());
  std::vector<pollfd> none;
  wait.poll(none);
  CHECK_FALSE(wait.is_over());
  CHECK(wait.is_stopped());
}

}  // namespace
}  // namespace dlock::testing::answer_wait_test
