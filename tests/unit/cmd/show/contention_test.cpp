// SPDX-License-Identifier: Apache-2.0
#include "cmd/show/contention.h"

#include <doctest/doctest.h>

#include "tests/support/command_world.h"

namespace contention_test {

using namespace dlock;
using namespace std::chrono_literals;

namespace {

const WallTime kNow = LeapingClock().wall();

Participant party(const char* host, int pid, Duration held) {
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
  const Error error = busy_error(lock_name("deploy/prod"), held({party("ci-4", 8812, 41s)}), 30s, kNow);
  CHECK(error.code == ErrorCode::kBusy);
  CHECK(error.message == "deploy/prod is held by ci-4 (pid 8812, user deploy) for 41 s; gave up after 30 s");
  CHECK(error.next == "wait longer with --wait 5m, or see the queue: dlock inspect deploy/prod");
}

TEST_CASE("with one attempt nobody gave up, and a wait is suggested") {
  const Error error = busy_error(lock_name("a b"), std::nullopt, std::nullopt, kNow);
  CHECK(error.message == "a b is held by somebody else");
  CHECK(error.next == "wait for it with --wait 30s, or see the queue: dlock inspect 'a b'");
}

TEST_CASE("a reason is one line of 80 columns at the most, and those who are not listed are counted") {
  Participant holder = party("ci-4", 8812, 41s);
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
  const std::string line = progress_line(state, {"elsewhere", 1}, kNow, 0);
  CHECK(line.find("\u2026 and 7 more - 42 waiting") != std::string::npos);
}

TEST_CASE("reason, end of the lease and the others who wait are told when they are known") {
  Participant holder = party("ci-4", 8812, 41s);
  holder.reason = "rollout";
  holder.until = kNow + 12s;
  const Error error =
      busy_error(lock_name("deploy/prod"), held({holder}, {party("a", 1, 1s), party("b", 2, 1s)}), std::nullopt, kNow);
  CHECK(error.message ==
        "deploy/prod is held by ci-4 (pid 8812, user deploy) for 41 s (rollout), lease ends in 12 s; 2 others wait");
}

TEST_CASE("--warn-held names the one who has held it longest, once that is too long") {
  const auto told = [](const LockState& state) { return long_hold_error(state, 2h, kNow); };
  const auto error = told(held({party("ci-5", 1, 1min), party("ci-4", 8812, 3h + 20min)}));
  REQUIRE(error);
  CHECK(error->message ==
        "deploy/prod is held by ci-4 (pid 8812, user deploy) for 3 h 20 min; that is longer than 2 h (--warn-held); "
        "1 other holds it too");
  CHECK(error->next == "look at it: dlock inspect deploy/prod; if it is stuck: dlock force-release deploy/prod");
  CHECK(told(held({party("ci-4", 8812, 2h)})));
  CHECK(!told(held({party("ci-4", 8812, 2h - 1s)})));
  CHECK(!told(held({}, {party("waits", 1, 5h)})));
  CHECK_MESSAGE(!told(held({Participant{}})), "since when is not known");
}

TEST_CASE("three holders are named, more are counted") {
  LockState state = held({party("a", 1, 1s), party("b", 2, 2s), party("c", 3, 3s), party("d", 4, 4s)});
  state.mode = Mode::kPermits;
  state.permits = 4;
  const Error error = busy_error(state.name, state, std::nullopt, kNow);
  CHECK(
      error.message ==
      "deploy/prod has 4 of 4 permits held, by a (pid 1, user deploy) for 1 s; b (pid 2, user deploy) for 2 s; c (pid "
      "3, user deploy) for 3 s and 1 more");
}

TEST_CASE("the progress line says whom we wait for and how many stand before us") {
  Participant own = party("here", 9, 1s);
  const Self self{"here", 9};
  const LockState state = held({party("ci-4", 8812, 41s)}, {party("a", 1, 5s), party("b", 2, 4s), own});
  CHECK(progress_line(state, self, kNow, 0) ==
        "waiting for deploy/prod - held by ci-4 pid 8812 (deploy) for 41 s - 2 ahead of you");
  CHECK(progress_line(state, {"elsewhere", 9}, kNow, 0).ends_with(" - 3 waiting"));
  CHECK(progress_line(held({}, {own}), self, kNow, 0) == "waiting for deploy/prod - you are next");
  CHECK(progress_line(state, self, kNow, 30) == "waiting for deploy/prod - hel…");
}

}  // namespace contention_test
