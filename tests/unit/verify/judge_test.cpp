// SPDX-License-Identifier: Apache-2.0
#include "tests/verify/judge.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/text.h"

namespace verify_judge_test {

using namespace dlock;
using namespace std::chrono_literals;

const Bounds kBounds{.lease = 3s, .wake = 1s, .late = 500ms, .slack = 500ms};

/// Lines with "; " between them, whose times are milliseconds. "ASK x" asks for an exclusive lock, directly.
VerifyHistory told(std::string_view lines) {
  VerifyHistory history;
  while (!lines.empty()) {
    std::string_view rest = cut(lines, ';');
    if (!lines.empty()) lines.remove_prefix(1);
    const std::string_view time = cut(rest, ' ');
    const bool asks = rest.size() > 6 && rest.substr(rest.size() - 6, 5) == " ASK ";
    history.add_line(std::string(time) + "000000 " + std::string(rest) + (asks ? " exclusive any" : ""));
  }
  return history;
}

using Check = Judgement (*)(const VerifyHistory&, const Bounds&);
Judgement tokens(const VerifyHistory& history, const Bounds&) { return check_tokens(history); }
Judgement order(const VerifyHistory& history, const Bounds&) { return check_order(history); }

struct Row {
  const char* name;
  Check check;
  std::size_t breaches;
  std::string_view lines;
};

const Row kRows[] = {
    {"holds one behind the other", check_exclusion, 0,
     "1 a ASK x; 2 b ASK x; 3 a BEGIN 5 -; 4 a TICK; 5 a END; 6 b BEGIN 6 -; 7 b END"},
    {"an act behind the next one's BEGIN", check_exclusion, 1,
     "1 a ASK x; 2 b ASK x; 3 a BEGIN 5 -; 6 b BEGIN 6 -; 7 a TICK; 8 b END"},
    {"a command that begins twice", check_exclusion, 1, "1 a ASK x; 3 a BEGIN 5 -; 4 a END; 6 a BEGIN 6 -; 7 a END"},
    {"the last act of a killed one counts, not its death", check_exclusion, 0,
     "1 a ASK x; 3 a BEGIN 5 -; 4 a TICK; 5 b ASK x; 6 b BEGIN 6 -; 8 b END; 9 a GONE signal 9"},
    {"other keys are other locks", check_exclusion, 0,
     "1 a ASK x; 1 b ASK q; 3 a BEGIN 5 -; 4 b BEGIN 6 -; 7 a END; 8 b END"},
    {"stopped as a whole, it goes on for a moment under the lower token", check_exclusion, 0,
     "1 a ASK x; 3 a BEGIN 5 -; 4 a HIT stop-all; 5 b ASK x; 3500 b BEGIN 6 -; 4000 a HEALED stop-all; "
     "4001 a TICK; 4100 b END"},
    {"the same under a token that is not lower", check_exclusion, 1,
     "1 a ASK x; 3 a BEGIN 7 -; 4 a HIT stop-all; 5 b ASK x; 3500 b BEGIN 6 -; 4000 a HEALED stop-all; "
     "4001 a TICK; 4100 b END"},
    {"the same in a store without tokens", check_exclusion, 0,
     "1 a ASK x; 3 a BEGIN - -; 4 a HIT stop-all; 5 b ASK x; 3500 b BEGIN - -; 4000 a HEALED stop-all; "
     "4001 a TICK; 4100 b END"},
    {"the same for longer than a moment", check_exclusion, 1,
     "1 a ASK x; 3 a BEGIN 5 -; 4 a HIT stop-all; 5 b ASK x; 3500 b BEGIN 6 -; 4000 a HEALED stop-all; "
     "4001 a TICK; 5100 a TERM; 5200 b END"},
    {"readers beside each other", check_exclusion, 0,
     "1 a ASK q shared any; 1 b ASK q shared any; 2 a BEGIN 5 -; 3 b BEGIN 6 -; 4 a END; 5 b END"},
    {"a writer beside a reader", check_exclusion, 1,
     "1 a ASK q shared any; 1 b ASK q; 2 a BEGIN 5 -; 3 b BEGIN 6 -; 4 a END; 5 b END"},
    {"two permits", check_permits, 0,
     "1 a ASK p permits any; 1 b ASK p permits any; 2 a BEGIN 5 0; 3 b BEGIN 6 1; 4 a END; 5 b END"},
    {"two with one slot", check_permits, 1,
     "1 a ASK p permits any; 1 b ASK p permits any; 2 a BEGIN 5 0; 3 b BEGIN 6 0; 4 a END; 5 b END"},
    {"three at once", check_permits, 1,
     "1 a ASK p permits any; 1 b ASK p permits any; 1 c ASK p permits any; 2 a BEGIN 5 0; "
     "3 b BEGIN 6 1; 4 c BEGIN 7 2; 5 a END; 5 b END; 5 c END"},
    {"tokens that grow", tokens, 0, "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b BEGIN 6 -"},
    {"the same token twice", tokens, 1, "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b BEGIN 5 -"},
    {"a store without tokens", tokens, 0, "1 a ASK x; 2 a BEGIN - -; 3 b ASK x; 4 b BEGIN - -"},
    {"in their order", order, 0,
     "1 a ASK q exclusive fair; 2 a QUEUED; 3 b ASK q exclusive fair; 4 a BEGIN 5 -; 5 a END; "
     "6 b BEGIN 6 -"},
    {"who came later is served first", order, 1,
     "1 a ASK q exclusive fair; 2 a QUEUED; 3 b ASK q exclusive fair; 4 b BEGIN 5 -; 5 b END; "
     "6 a BEGIN 6 -"},
    {"nobody knows who was first", order, 0,
     "1 a ASK q exclusive fair; 2 b ASK q exclusive fair; 3 a QUEUED; 4 b BEGIN 5 -; 5 b END; "
     "6 a BEGIN 6 -"},
    {"who was hit has no place", order, 0,
     "1 a ASK q exclusive fair; 2 a QUEUED; 2 a HIT stop-all; 3 b ASK q exclusive fair; "
     "4 b BEGIN 5 -; 5 b END; 6 a BEGIN 6 -"},
    {"woken", check_hand_over, 0, "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 5 a END; 1400 b BEGIN 6 -"},
    {"woken too late", check_hand_over, 1,
     "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 5 a END; 1600 b BEGIN 6 -"},
    {"woken late because the server stood still", check_hand_over, 0,
     "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x exclusive any; 4 b QUEUED; 4 hook HIT stall; 5 a END; "
     "1500 hook HEALED; 2600 b BEGIN 6 -"},
    {"woken late because a dead waiter had to be passed over", check_hand_over, 0,
     "1 a ASK x; 2 a BEGIN 5 -; 3 d ASK x exclusive fair; 4 d QUEUED; 5 d HIT kill-both; 6 d GONE signal 9; "
     "7 b ASK x exclusive fair; 8 b QUEUED; 5005 a END; 11300 b BEGIN 6 -"},
    {"woken late though the dead waiter was passed over before", check_hand_over, 1,
     "1 a ASK x; 2 a BEGIN 5 -; 3 d ASK x exclusive fair; 4 d QUEUED; 5 d HIT kill-both; 6 d GONE signal 9; "
     "7 b ASK x exclusive fair; 8 b QUEUED; 9 c ASK x exclusive fair; 10 c QUEUED; 5005 a END; 11300 b BEGIN 6 -; "
     "11400 b END; 17500 c BEGIN 7 -"},
    {"woken later than a dead waiter is passed over", check_hand_over, 1,
     "1 a ASK x; 2 a BEGIN 5 -; 3 d ASK x exclusive fair; 4 d QUEUED; 5 d HIT kill-both; 6 d GONE signal 9; "
     "7 b ASK x exclusive fair; 8 b QUEUED; 5005 a END; 13300 b BEGIN 6 -"},
    {"free within the lease", check_recovery, 0,
     "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 5 a HIT kill-both; 6 a GONE signal 9; 3500 b BEGIN 6 -"},
    {"free too late", check_recovery, 1,
     "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 5 a HIT kill-both; 6 a GONE signal 9; 4600 b BEGIN 6 -"},
    {"a keeper that lives need not wait for the lease", check_recovery, 1,
     "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 5 a HIT kill-run; 6 a GONE signal 9; 3500 b BEGIN 6 -"},
    {"lost, and something was done to it", check_ends, 0,
     "1 a ASK x; 2 a BEGIN 5 -; 3 a HIT stop-keeper; 9 a GONE exit 79 LOST"},
    {"lost when the server failed", check_ends, 0,
     "1 a ASK x exclusive any; 2 a BEGIN 5 -; 3 hook HIT stall; 8 hook HEALED; 9 a GONE exit 79 LOST"},
    {"lost without a cause", check_ends, 1, "1 a ASK x; 2 a BEGIN 5 -; 9 a GONE exit 79 LOST"},
    {"it waited for ever", check_ends, 1, "1 a ASK x; 9 a HIT given-up; 9 a GONE signal 9"},
};

TEST_CASE("verify: what was too late by little is told to the millisecond") {
  const VerifyHistory history = told("1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 5 a END; 1545 b BEGIN 6 -");
  const Judgement judgement = check_hand_over(history, kBounds);
  REQUIRE(judgement.breaches.size() == 1);
  CHECK(judgement.breaches.front().what == "b had the lock 1540 ms after a released it: more than 1500 ms");
}

TEST_CASE("verify: each check says yes to a right history, and no to a wrong one") {
  for (const Row& row : kRows) {
    CAPTURE(row.name);
    const Judgement judgement = row.check(told(row.lines), kBounds);
    CHECK(judgement.breaches.size() == row.breaches);
    if (row.breaches > 0) CHECK(judgement.breaches.front().from < judgement.breaches.front().to);
  }
}

/// Those of a run with its default ttl.
const Bounds kDefaults{.lease = 3s, .wake = 2s, .late = 100ms, .slack = 1100ms};

struct SeenRow {
  const char* name;
  Check check;
  std::size_t tried;
  std::size_t breaches;
  std::string_view lines;
};

const SeenRow kSeenRows[] = {
    {"a lost release is not excused by the end of the lease", check_hand_over, 1, 1,
     "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 5 a END; 2600 b BEGIN 6 -"},
    {"under a long lease two seconds are the limit", check_hand_over, 1, 1,
     "1 a ASK x exclusive any 12000; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 5 a END; 2200 b BEGIN 6 -"},
    {"under a long lease one second is no breach", check_hand_over, 1, 0,
     "1 a ASK x exclusive any 12000; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 5 a END; 1505 b BEGIN 6 -"},
    {"a lost wake-up is seen though a newcomer is served", check_hand_over, 2, 1,
     "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 5 a END; 1500 c ASK x; 1600 c BEGIN 6 -; 1610 c END; "
     "1611 b BEGIN 7 -"},
    {"the lock was free, and nobody waited", check_hand_over, 0, 0,
     "1 a ASK x; 2 a BEGIN 5 -; 5 a END; 1500 c ASK x; 1600 c BEGIN 6 -"},
    {"beside trouble a lost release looks like any other", check_hand_over, 0, 0,
     "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 4 hook HIT stall; 5 a END; 900 hook HEALED; 2600 b BEGIN 6 -"},
    {"the lease of a dead holder", check_recovery, 1, 0,
     "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 5 a HIT kill-both; 6 a GONE signal 9; 3500 b BEGIN 6 -"},
    {"a lease that lasts for too long", check_recovery, 1, 1,
     "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 5 a HIT kill-both; 6 a GONE signal 9; 4200 b BEGIN 6 -"},
    {"a living keeper that does not release", check_recovery, 1, 1,
     "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 5 a HIT kill-run; 6 a GONE signal 9; 2100 b BEGIN 6 -"},
    {"a death beside an outage says nothing", check_recovery, 0, 0,
     "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 4 hook HIT stall; 5 a HIT kill-both; 6 a GONE signal 9; "
     "900 hook HEALED; 3500 b BEGIN 6 -"},
    {"one that was stopped lives, and keeps its lock", check_recovery, 0, 0,
     "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 5 a HIT stop-run; 900 a HEALED; 950 a GONE exit 0; "
     "960 b BEGIN 6 -"},
};

TEST_CASE("verify: what is counted could have been a breach, and what the lease would have hidden is one") {
  for (const SeenRow& row : kSeenRows) {
    CAPTURE(row.name);
    const Judgement judgement = row.check(told(row.lines), kDefaults);
    CHECK(judgement.tried == row.tried);
    CHECK(judgement.breaches.size() == row.breaches);
  }
}

TEST_CASE("verify: the lock of a holder that died is free at the end of its session, where it has one") {
  Bounds bounds = kDefaults;
  const auto breaches = [&](bool in_session, const std::string& begun) {
    bounds.in_session = in_session;
    const std::string lines = "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 5 a HIT kill-both; 6 a GONE signal 9; ";
    return check_recovery(told(lines + begun + " b BEGIN 6 -"), bounds).breaches.size();
  };
  CHECK(breaches(false, "4700") == 1);
  CHECK(breaches(true, "4700") == 0);
  CHECK(breaches(true, "5500") == 0);
  CHECK(breaches(true, "5700") == 1);
}

TEST_CASE("verify: on a machine that is late for a lease's third nothing is counted") {
  Bounds bounds = kDefaults;
  bounds.late = 1200ms;
  const VerifyHistory history = told("1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 5 a END; 2000 b BEGIN 6 -");
  CHECK(check_hand_over(history, bounds).tried == 0);
}

TEST_CASE("verify: torn and foreign lines are counted and left out") {
  VerifyHistory history;
  for (const char* line : {"1 a ASK x exclusive any", "", "7", "x a BEGIN", "2 a BEGIN 5 -", "3 a WHAT"}) {
    history.add_line(line);
  }
  CHECK(history.torn() == 4);
  CHECK(history.find("a")->token == 5);
}

TEST_CASE("verify: a breach names the two that it is about, and the lines from the first one's to where both acted") {
  const Judgement judgement = check_exclusion(
      told("1 a ASK x; 2 b ASK x; 3 c ASK q; 10 a BEGIN 5 -; 11 c BEGIN 5 -; 20 a TICK; 40 b BEGIN 6 -; 41 a TICK; "
           "60 a TICK; 70 b END"),
      kBounds);
  REQUIRE(judgement.breaches.size() == 1);
  const Breach& breach = judgement.breaches[0];
  CHECK(breach.what == "a and b hold x at the same time, 20 ms long");
  CHECK(breach.who == std::vector<std::string>{"a", "b"});
  CHECK(breach.from == 4);
  CHECK(breach.to == 9);
}

}  // namespace verify_judge_test
