// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/patience.h"

#include <doctest/doctest.h>

namespace dlock::patience_test {
namespace {

using namespace std::chrono_literals;

const Error kSilence{ErrorCode::kUnavailable, "no answer", ""};
const Error kRefusal{.code = ErrorCode::kUnavailable, .message = "is full", .outage = Outage::kRefused};

constexpr TimePoint at(Duration since) { return TimePoint(std::chrono::hours(1000)) + since; }

WaitPolicy waits(Duration patience) { return {.until = at(patience), .connect_timeout = 5s}; }

TEST_CASE("how often may be tried is what the policy says") {
  struct Case {
    const char* what;
    WaitPolicy policy;
    int allowed;  ///< attempts, one each second; 100: no end
  };
  for (const Case& c : {Case{"-n", {.once = true}, 1}, Case{"--tries 1", {.tries = 1}, 1},
                        Case{"--tries 3", {.tries = 3}, 3}, Case{"-w 5", {.until = at(5s)}, 6},
                        Case{"--tries 9 -w 2", {.until = at(2s), .tries = 9}, 3}, Case{"for ever", {}, 100}}) {
    CAPTURE(c.what);
    Patience patience(c.policy);
    int tried = 1;
    while (tried < 100 && patience.may_try_again(at((tried - 1) * 1s))) ++tried;
    CHECK(tried == c.allowed);
  }
}

TEST_CASE("a place in a queue is worth having for those that wait, not for those that count or ask once") {
  CHECK(Patience({}).queues());
  CHECK(Patience(waits(5s)).queues());
  CHECK_FALSE(Patience({.once = true}).queues());
  CHECK_FALSE(Patience({.tries = 3}).queues());
}

TEST_CASE("counted tries are as far apart as was asked, a second by default, and end with the wait") {
  CHECK(Patience({.tries = 3, .retry_interval = 7s}).wait_end(at(1s)) == at(8s));
  CHECK(Patience({.tries = 3}).wait_end(at(1s)) == at(2s));
  CHECK(Patience({.until = at(4s), .tries = 3, .retry_interval = 7s}).wait_end(at(1s)) == at(4s));
  CHECK(Patience(waits(60s)).wait_end(at(1s)) == at(60s));
  CHECK_FALSE(Patience({}).wait_end(at(1s)));
}

TEST_CASE("connect-timeout is for the first contact: who was answered once waits through a longer outage") {
  struct Case {
    const char* what;
    WaitPolicy policy;
    bool met;           ///< answered before
    Duration outlasts;  ///< the longest silence that another attempt follows, by steps of a second
  };
  const WaitPolicy minute = waits(60s);
  WaitPolicy counted = minute;
  counted.tries = 1000;
  WaitPolicy else_where = minute;
  else_where.has_fallback = true;
  for (const Case& c :
       {Case{"first contact", minute, false, 4s}, Case{"waits for a minute", minute, true, 59s},
        Case{"waits for ever", {.connect_timeout = 5s}, true, 999s},
        Case{"first contact of the patient", {}, false, 4s}, Case{"a short wait", waits(3s), false, 2s},
        Case{"counts its tries", counted, true, 4s}, Case{"has somewhere else to go", else_where, true, 4s},
        Case{"-n", {.once = true}, true, -1s}}) {
    CAPTURE(c.what);
    Patience patience(c.policy);
    if (c.met) patience.reached();
    patience.unreached(at(0s));
    patience.unreached(at(1s));  // it began before
    Duration outlasted = -1s;
    while (outlasted < 999s && patience.outlives(kSilence, at(outlasted + 1s))) outlasted += 1s;
    CHECK(outlasted == c.outlasts);
  }
}

TEST_CASE("a server that answers with what may pass gets the time of a first contact, and no more") {
  Patience patience(waits(60s));
  patience.reached();
  patience.failed(kRefusal, at(10s), at(10s));
  CHECK(patience.outlives(kRefusal, at(14s)));
  CHECK_FALSE(patience.outlives(kRefusal, at(15s)));
  patience.reached();
  patience.failed(kSilence, at(20s), at(25s));
  patience.failed(kRefusal, at(25s), at(26s));
  CHECK(patience.outlives(kRefusal, at(29s)));
  CHECK_FALSE(patience.outlives(kRefusal, at(30s)));
  patience.failed(kSilence, at(34s), at(34s));
  CHECK(patience.outlives(kSilence, at(40s)));
}

TEST_CASE("a server that may be silent for longer than connect-timeout is given that time") {
  Patience patience({.tries = 3, .connect_timeout = 5s});
  patience.outlives_silence_of(20s);
  CHECK(patience.attempt_end(at(0s)) == at(20s));
  patience.unreached(at(0s));
  CHECK(patience.outlives(kSilence, at(19s)));
  CHECK_FALSE(patience.outlives(kSilence, at(20s)));
  Patience once({.once = true, .connect_timeout = 5s});
  once.outlives_silence_of(20s);
  CHECK(once.attempt_end(at(0s)) == at(5s));
}

TEST_CASE("an answer is due when the wait is over, or the one attempt, and what they began is undone") {
  CHECK(answer_due(waits(60s), at(0s)) == at(61s));
  CHECK(answer_due(waits(100ms), at(0s)) == at(2s));
  CHECK(answer_due({.once = true, .connect_timeout = 2s}, at(0s)) == at(5s));
  CHECK(answer_due({.once = true}, at(0s)) == at(8s));
  CHECK_FALSE(answer_due({}, at(0s)));
  CHECK_FALSE(answer_due({.tries = 3, .connect_timeout = 1s}, at(0s)));
}

TEST_CASE("only silence passes") {
  for (const ErrorCode code : {ErrorCode::kDenied, ErrorCode::kMisconfigured, ErrorCode::kLost, ErrorCode::kConflict}) {
    CHECK_FALSE(Patience({}).outlives({code, "", ""}, at(0s)));
  }
}

TEST_CASE("an attempt has what is left of the connection's time, and that of a waiter ends soon after the wait") {
  Patience patience(waits(60s));
  CHECK(patience.attempt_end(at(0s)) == at(5s));
  patience.unreached(at(0s));
  CHECK(patience.attempt_end(at(3s)) == at(5s));
  CHECK(patience.attempt_end(at(9s)) == at(9s) + 40ms);
  patience.reached();
  CHECK(patience.attempt_end(at(9s)) == at(14s));
  patience.unreached(at(9s));
  CHECK(patience.attempt_end(at(20s)) == at(25s));
  CHECK(patience.attempt_end(at(58s)) == at(60s));
  CHECK(patience.attempt_end(at(60s)) == at(60s) + 500ms);
}

TEST_CASE("what is asked beside the attempts, and giving up, are over a second behind the wait") {
  const Patience patience(waits(60s));
  CHECK(patience.look_end(at(10s), 1s) == at(11s));
  CHECK(patience.look_end(at(59s) + 500ms, 1s) == at(60s));
  CHECK(patience.look_end(at(60s) - 1ms, 1s) == at(60s) + 99ms);
  CHECK(patience.look_end(at(60s) + 500ms, 1s) == at(61s));
  CHECK(patience.withdraw_end(at(59s) + 900ms, 1s) == at(60s) + 900ms);
  CHECK(patience.withdraw_end(at(60s) + 500ms, 1s) == at(61s));
  CHECK(patience.withdraw_end(at(61s), 1s) == at(61s) + 100ms);
  CHECK(Patience(WaitPolicy{}).look_end(at(9s), 1s) == at(10s));
  CHECK(Patience(WaitPolicy{}).withdraw_end(at(9s), 1s) == at(10s));
}

TEST_CASE("a wait that is shorter than the connection's time ends the first contact, which has a second") {
  CHECK(Patience(waits(3s)).attempt_end(at(0s)) == at(3s));
  CHECK(Patience(waits(100ms)).attempt_end(at(0s)) == at(1s));
  Patience never_met(waits(3s));
  never_met.unreached(at(0s));
  CHECK(never_met.attempt_end(at(2s)) == at(3s));
  CHECK(never_met.attempt_end(at(3s)) == at(3s) + 40ms);
  Patience impatient({.until = at(3s), .connect_timeout = 200ms});
  CHECK(impatient.attempt_end(at(0s)) == at(0s) + 200ms);
}

}  // namespace
}  // namespace dlock::patience_test
