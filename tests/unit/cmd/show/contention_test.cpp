// SPDX-License-Identifier: Apache-2.0
#include "cmd/show/contention.h"

#include <doctest/doctest.h>

#include "tests/support/command_world.h"

namespace contention_test {

using namespace dlock;
using namespace std::chrono_literals;

namespace {

const WallTime kNow = LeapingClock().wall();

Participant participant(const char* host, int pid, Duration held) {
  Participant holder;
  holder.host = host;
  holder.pid = pid;
  holder.user = "deploy";
  holder.since = kNow - std::chrono::duration_cast<std::chrono::microseconds>(held);
  return holder;
}

LockState held(std::vector<Participant> holders, std::vector<Participant> waiters = {}) {
  return {.name = lock_name("deploy/prod"),
          .store = "local:",
          .holders = std::move(holders),
          .waiters = std::move(waiters)};
}

}  // namespace

TEST_CASE("a busy lock names its holder, for how long, how long we waited, and what to do") {
  const Error error = busy_error(lock_name("deploy/prod"), held({participant("ci-4", 8812, 41s)}), 30s, kNow);
  CHECK(error.code == ErrorCode::kBusy);
  CHECK(error.message == "deploy/prod is held by deploy@ci-4 (pid 8812) for 41 s; gave up after 30 s");
  CHECK(error.next == "wait longer with --wait 5m, or see the queue: dlock inspect deploy/prod");
}

TEST_CASE("a short wait is told in tenths of a second") {
  const auto told = [](Duration waited) { return busy_error(lock_name("k"), std::nullopt, waited, kNow).message; };
  CHECK(told(1500ms) == "k is already held; gave up after 1.5 s");
  CHECK(told(1001ms) == "k is already held; gave up after 1 s");
  CHECK(told(501ms) == "k is already held; gave up after 501 ms");
}

TEST_CASE("with one attempt nobody gave up, and a wait is suggested") {
  const Error error = busy_error(lock_name("a b"), std::nullopt, std::nullopt, kNow);
  CHECK(error.message == "a b is already held");
  CHECK(error.next == "wait for it with --wait 30s, or see the queue: dlock inspect 'a b'");
}

TEST_CASE("a reason is one line of 80 columns at the most, and those who are not listed are counted") {
  Participant holder = participant("ci-4", 8812, 41s);
  holder.reason = "line 1\nline 2 \033[31m" + std::string(300, 'x');
  LockState state = held({holder});
  state.more_holders = 7;
  state.waiters.resize(2);
  state.more_waiters = 40;
  const std::string busy = busy_error(state.name, state, std::nullopt, kNow).message;
  CHECK(busy.find('\n') == std::string::npos);
  CHECK(busy.find('\033') == std::string::npos);
  CHECK(busy.find(std::string(81, 'x')) == std::string::npos);
  CHECK(busy.find("\u2026) and 7 more; 42 others wait") != std::string::npos);
  const std::string line = progress_line(state, {"elsewhere", 1}, {5s, {}}, kNow, "");
  CHECK(line.starts_with("42 in line, 5 s - held by ci-4 (pid 8812) for 41 s and 7 more: line 1"));
  CHECK(line.ends_with("\u2026"));
}

TEST_CASE("reason, end of the lease and the others who wait are told when they are known") {
  Participant holder = participant("ci-4", 8812, 41s);
  holder.reason = "rollout";
  holder.until = kNow + 12s;
  const Error error = busy_error(
      lock_name("deploy/prod"), held({holder}, {participant("a", 1, 1s), participant("b", 2, 1s)}), std::nullopt, kNow);
  CHECK(error.message ==
        "deploy/prod is held by deploy@ci-4 (pid 8812) for 41 s (rollout), lease ends in 12 s; 2 others wait");
}

TEST_CASE("a lock-delay has no holder, and its end is not that of a lease") {
  Participant over = participant("ci-4", 8812, 41s);
  over.owner = "a";
  over.until = kNow + 12s;
  over.standing = Standing::kDelayAfterLease;
  Participant nobody;
  nobody.until = kNow + 58s;
  nobody.standing = Standing::kDelayAfterForce;
  const auto told = [](const Participant& one) {
    return busy_error(lock_name("k"), held({one}), std::nullopt, kNow).message;
  };
  CHECK(told(over) == "k is held by deploy@ci-4 (pid 8812) for 41 s, lease ended, lock-delay runs for 12 s more");
  CHECK(told(nobody) == "k has no holder, and its lock-delay keeps others out for 58 s");
  Participant reader = participant("ci-5", 7, 1min);
  const std::string beside = busy_error(lock_name("k"), held({nobody, reader}), std::nullopt, kNow).message;
  CHECK(beside.find("deploy@ci-5 (pid 7) for 1 min") != std::string::npos);
  nobody.standing = Standing::kDelayAfterLease;
  nobody.until.reset();
  CHECK(told(nobody) == "k has no holder, and its lock-delay keeps others out");
}

TEST_CASE("--warn-held names the one who has held it longest, once that is too long") {
  const auto told = [](const LockState& state) { return long_hold_error(state, 2h, kNow); };
  const auto error = told(held({participant("ci-5", 1, 1min), participant("ci-4", 8812, 3h + 20min)}));
  REQUIRE(error);
  CHECK(error->message ==
        "deploy/prod is held by deploy@ci-4 (pid 8812) for 3 h 20 min; that is longer than 2 h (--warn-held); "
        "1 other holds it too");
  CHECK(error->next == "look at it: dlock inspect deploy/prod; if it is stuck: dlock force-release deploy/prod");
  CHECK(told(held({participant("ci-4", 8812, 2h)})));
  CHECK(!told(held({participant("ci-4", 8812, 2h - 1s)})));
  CHECK(!told(held({}, {participant("waits", 1, 5h)})));
  CHECK_MESSAGE(!told(held({Participant{}})), "since when is not known");
}

TEST_CASE("three holders are named, more are counted") {
  LockState state =
      held({participant("a", 1, 1s), participant("b", 2, 2s), participant("c", 3, 3s), participant("d", 4, 4s)});
  state.mode = Mode::kPermits;
  state.permits = 4;
  const Error error = busy_error(state.name, state, std::nullopt, kNow);
  CHECK(error.message ==
        "deploy/prod has 4 of 4 permits held, by deploy@a (pid 1) for 1 s; deploy@b (pid 2) for 2 s; deploy@c (pid 3) "
        "for 3 s and 1 more");
}

TEST_CASE("the progress line begins with our place, then says how long, and ends in what may be cut off") {
  Participant holder = participant("ci-4", 8812, 3min);
  holder.command = "deploy.sh";
  holder.reason = "release 2.4";
  Participant own = participant("here", 9, 41s);
  const Self self{"here", 9};
  const OwnWait wait{41s + 900ms, 10min};
  const LockState state = held({holder}, {participant("a", 1, 5s), own, participant("b", 2, 4s)});
  CHECK(progress_line(state, self, wait, kNow, "") ==
        "2nd in line, 41 s of 10 min - held by ci-4 (deploy.sh) for 3 min: release 2.4");
  CHECK(
      progress_line(state, self, {41s, {}}, kNow, "waiting for deploy/prod") ==
      "waiting for deploy/prod: 2nd in line, 41 s - held by deploy@ci-4 (deploy.sh, pid 8812) for 3 min: release 2.4");
  CHECK(progress_line(state, {"elsewhere", 9}, wait, kNow, "").starts_with("3 in line, 41 s of 10 min - "));
  CHECK(progress_line(held({}, {own}), self, wait, kNow, "") == "next in line, 41 s of 10 min");
  CHECK(progress_line(held({}), self, wait, kNow, "") == "waiting, 41 s of 10 min");
  CHECK(progress_line(held({}), self, wait, kNow, "waiting for k") == "waiting for k, 41 s of 10 min");
  CHECK(progress_line(held({}), self, {1049ms, 1500ms}, kNow, "") == "waiting, 1 s of 1.5 s");
  CHECK(progress_line(held({}), self, {560ms, 9s}, kNow, "") == "waiting, 0.5 s of 9 s");
}

TEST_CASE("places in a line are counted as people count them") {
  struct Row {
    std::size_t place;
    const char* text;
  };
  for (const Row& row : {Row{2, "2nd"}, Row{3, "3rd"}, Row{4, "4th"}, Row{10, "10th"}, Row{11, "11th"}, Row{12, "12th"},
                         Row{13, "13th"}, Row{21, "21st"}, Row{102, "102nd"}, Row{113, "113th"}}) {
    LockState state = held({});
    state.waiters.resize(row.place - 1);
    state.waiters.push_back(participant("here", 9, 1s));
    CHECK(progress_line(state, {"here", 9}, {}, kNow, "") == std::string(row.text) + " in line, 0 s");
  }
}

}  // namespace contention_test
