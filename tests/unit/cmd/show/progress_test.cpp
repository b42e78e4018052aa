// SPDX-License-Identifier: Apache-2.0
#include "cmd/show/progress.h"

#include <doctest/doctest.h>
#include <pty.h>
#include <stdlib.h>

#include <algorithm>

#include "lib/lock/lease.h"
#include "tests/support/command_world.h"

namespace progress_test {

using namespace dlock;
using namespace std::chrono_literals;

namespace {

/// A wait of a minute for "k" on the store "redis://h".
struct World : CommandWorld {
  World() {
    telling.keys = {*LockName::parse("k")};
    telling.wait = 1min;
  }
  Telling telling;
  SupervisionPolicy supervision;
  TimePoint at(Duration since) {
    const TimePoint then = TimePoint{} + since;
    std::vector<pollfd> nothing;
    clock.wait(nothing, then);
    return then;
  }
};

/// The same at a terminal of 80 columns.
struct AtTerminal : World {
  AtTerminal() {
    int m = -1, s = -1;
    winsize size{};
    size.ws_col = 80;
    REQUIRE(openpty(&m, &s, nullptr, nullptr, &size) == 0);
    master = UniqueFd(m);
    slave = UniqueFd(s);
    log = Log(Log::Style{}, s);
    setenv("TERM", "xterm", 1);
  }
  std::string shown() { return drain_terminal(master, slave); }

  UniqueFd master, slave;
};

}  // namespace

TEST_CASE_FIXTURE(World,
                  "elsewhere than on a terminal an outage is a line with its reason, and its end is another one") {
  Progress progress(telling, supervision, runtime);
  progress.asks("redis://h");
  SUBCASE("told") {
    progress.unreached("cannot reach h: refused", at(3s));
    progress.waiting(at(4s));
    progress.reached();
    CHECK(said() ==
          "dlock: waiting for k: cannot reach h: refused; it is asked again until it answers\n"
          "dlock: waiting for k: the store answers again\n");
  }
  SUBCASE("not to who wants no progress") {
    telling.progress = When::kNever;
    Progress silent(telling, supervision, runtime);
    silent.unreached("cannot reach h: refused", at(3s));
    silent.reached();
    CHECK(said().empty());
  }
}

TEST_CASE_FIXTURE(World, "a loss and a hold that was too long are told by what was under the lock") {
  Progress progress(telling, supervision, runtime);
  SupervisorState s;
  SUBCASE("nothing yet") {
    s.lost_why = "it is gone";
    progress.lost(s, 0);
    CHECK(said() == "dlock: LOST k: it is gone\n  nothing was run\n");
  }
  SUBCASE("a command, on a store that gives less than the ttl") {
    supervision.ttl = 30s;
    supervision.kill_after = 5s;
    s.lease = 3s;
    s.deadline = lease_deadline(at(0s), s.lease);
    s.command_alive = true;
    at(2s);
    s.lost_why = "no answer";
    progress.lost(s, 7);
    progress.overheld(s, 7);
    CHECK(said().find("LOST k: no renewal for 2 s (no answer); sent TERM to pid 7, KILL follows in 500 ms\n") == 7);
    s.said_lost = true;  // while the lease is renewed: it was asked for
    s.lost_why = "another client asked for it";
    progress.lost(s, 7);
    CHECK(said().find("LOST k: another client asked for it; sent TERM to pid 7, KILL follows in 500 ms\n") !=
          std::string::npos);
    s.said_lost = false;
    CHECK(said().find("allows; sent TERM to pid 7, KILL follows in 500 ms\n") != std::string::npos);
  }
  SUBCASE("what dlock hold serves, which is no command of ours") {
    s.command_alive = true;
    s.lost_why = "it is gone";
    progress.lost(s, 0);
    progress.overheld(s, 0);
    CHECK(said().find("nothing was run") == std::string::npos);
    CHECK(said().find("when the command is gone") == std::string::npos);
    CHECK(said().find("others may hold the lock now") != std::string::npos);
    CHECK(said().find("the lock is released now") != std::string::npos);
  }
}

TEST_CASE_FIXTURE(AtTerminal, "on a terminal the reason of an outage stays until it is over") {
  Progress progress(telling, supervision, runtime);
  progress.asks("redis://h");
  progress.unreached("cannot reach h: refused", at(3s));
  for (Duration now = 3500ms; now < 10s; now += 500ms) progress.waiting(at(now));
  SUBCASE("it lasts") {}
  SUBCASE("it is over") {
    progress.reached();
    progress.waiting(at(10s));
    progress.waited();
  }
  const std::string all = shown();
  CAPTURE(all);
  CHECK(all.find("\r\033[K3 s of 1 min - cannot reach h: refused") == 0);
  CHECK(all.find("\r\033[K9 s of 1 min - cannot reach h: refused") != std::string::npos);
  CHECK(all.find("connecting") == std::string::npos);
  CHECK(all.find("10 s of 1 min") == std::string::npos);
}

TEST_CASE_FIXTURE(AtTerminal, "what a server says of an outage steers no terminal") {
  Progress progress(telling, supervision, runtime);
  progress.unreached("h refused: \033]0;owned\a\n\033[2J", at(3s));
  std::string all = shown();
  CHECK(all.find("h refused: ") != std::string::npos);
  for (std::size_t at = 0; (at = all.find("\r\033[K", at)) != std::string::npos;) all.erase(at, 4);
  CHECK(std::none_of(all.begin(), all.end(), [](char c) { return c >= 0 && c < ' '; }));
}

}  // namespace progress_test
