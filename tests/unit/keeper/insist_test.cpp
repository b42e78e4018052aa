// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/insist.h"

#include <doctest/doctest.h>

#include <deque>

#include "tests/support/fake_clock.h"

namespace dlock::insist_test {
namespace {

using namespace std::chrono_literals;

const Error kReadOnly{ErrorCode::kUnavailable, "read-only"};
const Error kRefused{ErrorCode::kUnavailable, "connection refused"};
const Error kSilent{ErrorCode::kUnavailable, "no answer in time"};
const Error kLost{ErrorCode::kLost, "it is not there"};

/// A server that answers in this order; the last answer is for ever. Each takes `takes`.
struct Script {
  testing::FakeClock clock = {};
  std::deque<Result<void>> answers;
  Duration takes{0};
  int calls = 0;

  Result<void> operator()() {
    clock.advance(takes);
    ++calls;
    Result<void> answer = answers.front();
    if (answers.size() > 1) answers.pop_front();
    return answer;
  }
  TimePoint in(Duration time) const { return clock.now() + time; }
  Insisted<Result<void>> asked(Duration time) {
    return insist(clock, in(time), 40ms, [this] { return (*this)(); });
  }
};

}  // namespace

TEST_CASE("insist: it asks again while there is no answer, and says that there was none") {
  Script script{.answers = {kSilent, kRefused, Result<void>()}};
  const auto asked = script.asked(10s);
  CHECK(asked.answer);
  CHECK(asked.unanswered);
  CHECK(script.calls == 3);
  CHECK(script.clock.since_start() == 80ms);
}

TEST_CASE("insist: an answer is an answer, also one that refuses for good") {
  for (const Result<void>& answer :
       {Result<void>(), Result<void>(kLost), Result<void>(Error{ErrorCode::kDenied, "no"})}) {
    Script script{.answers = {answer}};
    const auto asked = script.asked(10s);
    CHECK(static_cast<bool>(asked.answer) == static_cast<bool>(answer));
    CHECK_FALSE(asked.unanswered);
    CHECK(script.calls == 1);
  }
}

TEST_CASE("insist: the reason is that of the last call which the deadline did not cut short") {
  Script several{.answers = {kReadOnly, kRefused, kSilent}, .takes = 400ms};
  CHECK(several.asked(1s).answer.error().message == kRefused.message);
  CHECK(several.calls == 3);
  Script one{.answers = {kSilent}, .takes = 2s};
  CHECK(one.asked(1s).answer.error().message == kSilent.message);
  CHECK(one.calls == 1);
}

TEST_CASE("insist: gone after a call without an answer is what was wanted; gone at once is a loss") {
  struct Row {
    std::deque<Result<void>> answers;
    bool before;    ///< an earlier attempt had no answer
    bool answered;  ///< the server said Unavailable, so that nothing was done
    bool gone;
  };
  const Row rows[] = {
      {{kSilent, kLost}, false, false, true},   {{kLost}, false, false, false},         {{kLost}, true, false, true},
      {{kReadOnly, kLost}, false, true, false}, {{Result<void>()}, false, false, true},
  };
  for (const Row& row : rows) {
    Script script{.answers = row.answers};
    const auto gone = insist_gone(
        script.clock, script.in(1s), 40ms, row.before, [&] { return script(); }, [&] { return row.answered; });
    CHECK(static_cast<bool>(gone) == row.gone);
  }
}

}  // namespace dlock::insist_test
