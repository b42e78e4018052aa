// SPDX-License-Identifier: Apache-2.0
#include "cmd/verify/checks.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/text.h"

namespace verify_checks_test {

using namespace dlock;
using namespace std::chrono_literals;

const Bounds kBounds{.lease = 3s, .wake = 1s, .late = 500ms, .slack = 500ms, .permits = 2};

/// Lines with "; " between them, whose times are milliseconds. "ASK x" asks for an exclusive lock, directly.
VerifyHistory told(std::string_view lines) {
  VerifyHistory history;
  while (!lines.empty()) {
    std::string_view rest = cut(lines, ';');
    if (!lines.empty()) lines.remove_prefix(1);
    const std::string_view time = cut(rest, ' ');
    const bool asks = rest.size() > 6 && rest.substr(rest.size() - 6, 5) == " ASK ";
    history.add_line(std::string(time) + "000000 " + std::string(rest) + (asks ? " exclusive any direct" : ""));
  }
  return history;
}

using Check = Judgement (*)(const VerifyHistory&, const Bounds&);
Judgement tokens(const VerifyHistory& history, const Bounds&) { return check_tokens(history); }
Judgement order(const VerifyHistory& history, const Bounds&) { return check_order(history); }

Judgement kept(const VerifyHistory& history, const Bounds&) { return check_kept(history); }

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
    {"the same for longer than a moment", check_exclusion, 1,
     "1 a ASK x; 3 a BEGIN 5 -; 4 a HIT stop-all; 5 b ASK x; 3500 b BEGIN 6 -; 4000 a HEALED stop-all; "
     "4001 a TICK; 5100 a TERM; 5200 b END"},
    {"readers beside each other", check_sharing, 0,
     "1 a ASK q shared any direct; 1 b ASK q shared any direct; 2 a BEGIN 5 -; 3 b BEGIN 6 -; 4 a END; 5 b END"},
    {"a writer beside a reader", check_sharing, 1,
     "1 a ASK q shared any direct; 1 b ASK q; 2 a BEGIN 5 -; 3 b BEGIN 6 -; 4 a END; 5 b END"},
    {"two permits", check_permits, 0,
     "1 a ASK p permits any direct; 1 b ASK p permits any direct; 2 a BEGIN 5 0; 3 b BEGIN 6 1; 4 a END; 5 b END"},
    {"two with one slot", check_permits, 1,
     "1 a ASK p permits any direct; 1 b ASK p permits any direct; 2 a BEGIN 5 0; 3 b BEGIN 6 0; 4 a END; 5 b END"},
    {"three at once", check_permits, 1,
     "1 a ASK p permits any direct; 1 b ASK p permits any direct; 1 c ASK p permits any direct; 2 a BEGIN 5 0; "
     "3 b BEGIN 6 1; 4 c BEGIN 7 2; 5 a END; 5 b END; 5 c END"},
    {"what is kept is free when its time is over", kept, 0,
     "1 a ASK a exclusive any direct 3000 at-least 100; 2 a BEGIN 5 -; 3 a END; 4 a GONE exit 0; "
     "101 b ASK a exclusive any direct 3000 at-least 100; 102 b BEGIN 6 -; 103 b END; 104 b GONE exit 0"},
    {"one begins in the time that another keeps", kept, 1,
     "1 a ASK a exclusive any direct 3000 at-least 100; 2 a BEGIN 5 -; 3 a END; 4 a GONE exit 0; "
     "90 b ASK a exclusive any direct 3000 at-least 100; 91 b BEGIN 6 -; 92 b END; 93 b GONE exit 0"},
    {"the same when the one before was killed", kept, 1,
     "1 a ASK a exclusive any direct 3000 at-least 900; 2 a BEGIN 5 -; 3 a HIT kill-both; 4 a GONE signal 9; "
     "600 b ASK a exclusive any direct 3000 at-least 100; 601 b BEGIN 6 -; 602 b END"},
    {"a lock that was lost keeps nothing", kept, 0,
     "1 a ASK a exclusive any direct 3000 at-least 900; 2 a BEGIN 5 -; 3 a HIT kill-keeper; 4 a GONE exit 79 LOST; "
     "600 b ASK a exclusive any direct 3000 at-least 100; 601 b BEGIN 6 -; 602 b END"},
    {"the third one begins in the time that the second keeps, which was granted after the first", kept, 1,
     "1 a ASK a exclusive any direct 3000 at-least 100; 2 a BEGIN 5 -; 3 a END; 4 a GONE exit 0; "
     "5 b ASK a exclusive any direct 3000 at-least 100; 102 b BEGIN 6 -; 103 b END; 104 b GONE exit 0; "
     "150 c ASK a exclusive any direct 3000 at-least 100; 151 c BEGIN 7 -; 152 c END; 153 c GONE exit 0"},
    {"a slot that was run is not run again, and again when it is forgotten", check_slots, 0,
     "1 a ASK o exclusive any direct 3000 once 1 1000; 2 a BEGIN 5 -; 3 a END; 4 a GONE exit 0; "
     "5 b ASK o exclusive any direct 3000 once 1 1000; 6 b GONE exit 0; "
     "7 c ASK o exclusive any direct 3000 once 2 1000; 8 c BEGIN 6 -; 9 c END; 10 c GONE exit 0; "
     "1010 d ASK o exclusive any direct 3000 once 1 1000; 1011 d BEGIN 7 -; 1012 d END; 1013 d GONE exit 0"},
    {"a slot that runs again", check_slots, 1,
     "1 a ASK o exclusive any direct 3000 once 1 1000; 2 a BEGIN 5 -; 3 a END; 4 a GONE exit 0; "
     "5 b ASK o exclusive any direct 3000 once 1 1000; 900 b BEGIN 6 -; 901 b END; 902 b GONE exit 0"},
    {"the first one was killed, and may not have been remembered", check_slots, 0,
     "1 a ASK o exclusive any direct 3000 once 1 1000; 2 a BEGIN 5 -; 3 a END; 4 a HIT kill-run; 5 a GONE signal 9; "
     "6 b ASK o exclusive any direct 3000 once 1 1000; 7 b BEGIN 6 -; 8 b END; 9 b GONE exit 0"},
    {"a slot that is said to have run, and has not", check_slots, 1,
     "1 a ASK o exclusive any direct 3000 once 1 1000; 2 a BEGIN 5 -; 3 a HIT kill-run; 4 a GONE signal 9; "
     "6 b ASK o exclusive any direct 3000 once 1 1000; 7 b GONE exit 0"},
    {"who is superseded gives way, the last one runs", check_succession, 0,
     "1 a ASK w exclusive fair direct 3000 newest; 2 a QUEUED; 3 b ASK w exclusive fair direct 3000 newest; 4 b "
     "QUEUED; "
     "900 a GONE exit 75 superseded; 2000 b BEGIN 5 -; 2001 b END; 2002 b GONE exit 0"},
    {"who is superseded runs", check_succession, 1,
     "1 a ASK w exclusive fair direct 3000 newest; 2 a QUEUED; 3 b ASK w exclusive fair direct 3000 newest; 4 b "
     "QUEUED; "
     "2000 a BEGIN 5 -; 2001 a END; 2002 a GONE exit 0"},
    {"one of the other kind supersedes nobody", check_succession, 0,
     "1 a ASK w exclusive fair direct 3000 newest; 2 a QUEUED; 3 b ASK w exclusive fair direct 3000 replace; 4 b "
     "QUEUED; "
     "2000 a BEGIN 5 -; 2001 a END; 2002 a GONE exit 0"},
    {"superseded by nobody", check_ends, 1,
     "1 a ASK w exclusive fair direct 3000 newest; 2 a QUEUED; 3 a GONE exit 75 superseded; "
     "4 b ASK w exclusive fair direct 3000 newest; 5 b BEGIN 5 -; 6 b END; 7 b GONE exit 0"},
    {"superseded while it runs, of those of which the running one goes on", check_ends, 1,
     "1 a ASK w exclusive fair direct 3000 newest; 2 a BEGIN 5 -; 3 b ASK w exclusive fair direct 3000 newest; "
     "4 a GONE exit 75 LOST; 5 b BEGIN 6 -; 6 b END; 7 b GONE exit 0"},
    {"replaced while it runs", check_ends, 0,
     "1 a ASK w exclusive fair direct 3000 replace; 1 c ASK w exclusive fair direct 3000 newest; 2 a BEGIN 5 -; "
     "3 b ASK w exclusive fair direct 3000 replace; 4 a GONE exit 75 LOST; 5 c GONE exit 79 LOST; 5 b BEGIN 6 -; 6 b "
     "END; "
     "7 b GONE exit 0"},
    {"busy, where it tries once for --at-least", check_ends, 0,
     "1 a ASK a exclusive any direct 3000 at-least 100; 2 a GONE exit 75 busy"},
    {"asked back", check_ends, 0, "1 a ASK x; 2 a BEGIN 5 -; 3 revoke HIT x; 4 a GONE exit 79 LOST; 5 revoke HEALED"},
    {"another one was asked back", check_ends, 1,
     "1 a ASK x; 2 a BEGIN 5 -; 3 revoke HIT q; 4 a GONE exit 79 LOST; 5 revoke HEALED"},
    {"asked back, and the next one begins before it is gone", check_exclusion, 1,
     "1 a ASK x; 1 b ASK x; 2 a BEGIN 5 -; 3 revoke HIT x; 4 a TERM; 5 b BEGIN 6 -; 6 a TICK; 7 a GONE exit 79 LOST; 8 "
     "b END"},
    {"tokens that grow", tokens, 0, "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b BEGIN 6 -"},
    {"the same token twice", tokens, 1, "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b BEGIN 5 -"},
    {"a store without tokens", tokens, 0, "1 a ASK x; 2 a BEGIN - -; 3 b ASK x; 4 b BEGIN - -"},
    {"in their order", order, 0,
     "1 a ASK q exclusive fair direct; 2 a QUEUED; 3 b ASK q exclusive fair direct; 4 a BEGIN 5 -; 5 a END; "
     "6 b BEGIN 6 -"},
    {"who came later is served first", order, 1,
     "1 a ASK q exclusive fair direct; 2 a QUEUED; 3 b ASK q exclusive fair direct; 4 b BEGIN 5 -; 5 b END; "
     "6 a BEGIN 6 -"},
    {"nobody knows who was first", order, 0,
     "1 a ASK q exclusive fair direct; 2 b ASK q exclusive fair direct; 3 a QUEUED; 4 b BEGIN 5 -; 5 b END; "
     "6 a BEGIN 6 -"},
    {"who was hit has no place", order, 0,
     "1 a ASK q exclusive fair direct; 2 a QUEUED; 2 a HIT stop-all; 3 b ASK q exclusive fair direct; "
     "4 b BEGIN 5 -; 5 b END; 6 a BEGIN 6 -"},
    {"woken", check_hand_over, 0, "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 5 a END; 1400 b BEGIN 6 -"},
    {"woken too late", check_hand_over, 1,
     "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 5 a END; 1600 b BEGIN 6 -"},
    {"woken late because the network stood still", check_hand_over, 0,
     "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x exclusive any proxied; 4 b QUEUED; 4 net HIT stall; 5 a END; "
     "1500 net HEALED; 2600 b BEGIN 6 -"},
    {"free within the lease", check_recovery, 0,
     "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 5 a HIT kill-both; 6 a GONE signal 9; 3500 b BEGIN 6 -"},
    {"free too late", check_recovery, 1,
     "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 5 a HIT kill-both; 6 a GONE signal 9; 4600 b BEGIN 6 -"},
    {"a keeper that lives need not wait for the lease", check_recovery, 1,
     "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 5 a HIT kill-run; 6 a GONE signal 9; 3500 b BEGIN 6 -"},
    {"lost, and something was done to it", check_ends, 0,
     "1 a ASK x; 2 a BEGIN 5 -; 3 a HIT stop-keeper; 9 a GONE exit 79 LOST"},
    {"lost when its network failed", check_ends, 0,
     "1 a ASK x exclusive any proxied; 2 a BEGIN 5 -; 3 net HIT stall; 8 net HEALED; 9 a GONE exit 79 LOST"},
    {"lost when the network of others failed", check_ends, 1,
     "1 a ASK x; 2 a BEGIN 5 -; 3 net HIT stall; 8 net HEALED; 9 a GONE exit 79 LOST"},
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
    if (row.breaches > 0) CHECK(!judgement.breaches.front().history.empty());
  }
}

/// Those of `dlock verify` with its default ttl.
const Bounds kDefaults{.lease = 3s, .wake = 2s, .late = 100ms, .slack = 1100ms, .permits = 2};

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
     "1 a ASK x exclusive any direct 12000; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 5 a END; 2200 b BEGIN 6 -"},
    {"under a long lease one second is no breach", check_hand_over, 1, 0,
     "1 a ASK x exclusive any direct 12000; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 5 a END; 1505 b BEGIN 6 -"},
    {"a lost wake-up is seen though a newcomer is served", check_hand_over, 2, 1,
     "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 5 a END; 1500 c ASK x; 1600 c BEGIN 6 -; 1610 c END; "
     "1611 b BEGIN 7 -"},
    {"the lock was free, and nobody waited", check_hand_over, 0, 0,
     "1 a ASK x; 2 a BEGIN 5 -; 5 a END; 1500 c ASK x; 1600 c BEGIN 6 -"},
    {"beside trouble a lost release looks like any other", check_hand_over, 0, 0,
     "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 4 net HIT stall; 5 a END; 900 net HEALED; 2600 b BEGIN 6 -"},
    {"the lease of a dead holder", check_recovery, 1, 0,
     "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 5 a HIT kill-both; 6 a GONE signal 9; 3500 b BEGIN 6 -"},
    {"a lease that lasts for too long", check_recovery, 1, 1,
     "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 5 a HIT kill-both; 6 a GONE signal 9; 4200 b BEGIN 6 -"},
    {"a living keeper that does not release", check_recovery, 1, 1,
     "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 5 a HIT kill-run; 6 a GONE signal 9; 2100 b BEGIN 6 -"},
    {"a death beside an outage says nothing", check_recovery, 0, 0,
     "1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 4 net HIT stall; 5 a HIT kill-both; 6 a GONE signal 9; "
     "900 net HEALED; 3500 b BEGIN 6 -"},
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

TEST_CASE("verify: on a machine that is late for a lease's third nothing is counted") {
  Bounds bounds = kDefaults;
  bounds.late = 1200ms;
  const VerifyHistory history = told("1 a ASK x; 2 a BEGIN 5 -; 3 b ASK x; 4 b QUEUED; 5 a END; 2000 b BEGIN 6 -");
  CHECK(check_hand_over(history, bounds).tried == 0);
}

TEST_CASE("verify: torn and foreign lines are counted and left out") {
  VerifyHistory history;
  for (const char* line : {"1 a ASK x exclusive any direct", "", "7", "x a BEGIN", "2 a BEGIN 5 -", "3 a WHAT"}) {
    history.add_line(line);
  }
  CHECK(history.torn() == 4);
  CHECK(history.find("a")->token == 5);
}

TEST_CASE("verify: the shortest history has the two it is about, with ticks of each in one line") {
  const Judgement judgement = check_exclusion(
      told("1 a ASK x; 2 b ASK x; 3 c ASK q; 10 a BEGIN 5 -; 11 c BEGIN 5 -; 20 a TICK; 21 c TICK; 30 a TICK; "
           "40 b BEGIN 6 -; 41 a TICK; 42 b TICK; 50 a TICK; 51 b TICK; 52 a TERM; 60 a TICK; 70 b END"),
      kBounds);
  REQUIRE(judgement.breaches.size() == 1);
  CHECK(judgement.breaches[0].what == "a and b hold x at the same time, 20 ms long");
  CHECK(judgement.breaches[0].history ==
        std::vector<std::string>{"   +0.000 s  a  BEGIN 5 -", "   +0.010 s  a  TICK x 2", "   +0.030 s  b  BEGIN 6 -",
                                 "   +0.031 s  a  TICK x 2", "   +0.032 s  b  TICK x 2", "   +0.042 s  a  TERM",
                                 "   +0.050 s  a  TICK"});
}

TEST_CASE("verify: gaps are measured where nothing was done, and by what was done") {
  const Gaps gaps = measure_gaps(
      told("1 a ASK x; 2 a BEGIN 1 -; 3 b ASK x; 4 b QUEUED; 10 a END; 14 b BEGIN 2 -; 15 c ASK x; 16 c QUEUED; "
           "20 b HIT kill-both; 21 b GONE signal 9; 2020 c BEGIN 3 -; 2030 c END"),
      kBounds);
  CHECK(gaps.hand_over.samples() == std::vector<Duration>{4ms});
  REQUIRE(gaps.recovery.contains("kill-both"));
  CHECK(gaps.recovery.at("kill-both").samples() == std::vector<Duration>{2000ms});
}

}  // namespace verify_checks_test
