// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/stock_hold.h"

#include <doctest/doctest.h>

#include <utility>

#include "lib/lock/lease.h"
#include "lib/stock/taking.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/stock/stock_hold_world.h"

namespace dlock::stock_hold_test {
namespace {

using namespace std::chrono_literals;
using testing::FakeClock;
using testing::granted;
using testing::MemoryStock;
using testing::refused;
using testing::StockHoldWorld;

}  // namespace

TEST_CASE("stock hold: answers that are lost are asked for again, and nothing happens twice") {
  for (int lost = 1; lost < 5; ++lost) {
    StockHoldWorld w({3, 3});
    w.shelf.unanswered = lost;
    StockHold hold = w.hold(2);
    granted(hold.acquire(w.control));
    CHECK(w.aside() == 2);
    w.shelf.unanswered = lost;
    hold.command_ended(0);
    CHECK(hold.release(w.soon()));
    CHECK(w.shelf.taken == 2);
    CHECK(w.there() == 4);
  }
}

TEST_CASE("stock hold: who could not be reached is unavailable after the connect timeout, and leaves nothing") {
  StockHoldWorld w({3, 3});
  w.shelf.unanswered = 1;
  w.shelf.unreached = 0;
  w.wish.wait.connect_timeout = 2s;
  StockHold hold = w.hold(2);
  granted(hold.acquire(w.control));
  CHECK(hold.release(w.soon()));
  w.shelf.unreached = 1000000;
  const TimePoint before = w.clock.now();
  StockHold other = w.hold(2);
  CHECK(refused(other.acquire(w.control)).code == ErrorCode::kUnavailable);
  CHECK(w.clock.now() - before < 6s);
  CHECK(w.aside() == 0);
}

TEST_CASE("stock hold: who was kept out by a crowd is told when the wait is over, and has nothing to give back") {
  StockHoldWorld w({3, 3});
  w.shelf.crowded = true;
  w.wish.wait.once = true;
  StockHold hold = w.hold(2);
  CHECK(refused(hold.acquire(w.control)).code == ErrorCode::kBusy);
  CHECK(w.shelf.calls == 1);
}

TEST_CASE("taking: a store that is silent is waited for as long as one was told to, and no longer") {
  struct Row {
    WaitPolicy wait;
    Duration least, most;
  };
  const TimePoint start = FakeClock::start();
  const Row rows[] = {{{.until = start + 2s}, 2s, 2s},
                      {{.until = start + 7s}, 5s, 7200ms},
                      {{.until = start + 100ms}, 100ms, 1s},
                      {{.connect_timeout = 1s}, 1s, 1200ms},
                      {{.until = start + 7s, .connect_timeout = 1s}, 1s, 1200ms},
                      {{.once = true}, 5s, 5200ms},
                      {{.once = true, .connect_timeout = 1s}, 1s, 1200ms},
                      {{}, 5s, 10200ms}};
  for (const Row& row : rows) {
    for (const bool at_once : {false, true}) {  // refused, or no answer
      FakeClock clock;
      const auto silent = [&](int /*start*/, const CallLimit& limit) -> Result<StockAnswer> {
        if (!at_once) clock.advance(limit.until - clock.now());
        return Error{ErrorCode::kUnavailable, "no answer"};
      };
      const StockRequest request{*LockName::parse("phone"), *LockName::parse("order")};
      const auto taken = take_when_possible(request, silent, row.wait, clock, nullptr);
      REQUIRE_FALSE(taken);
      CHECK(taken.error().code == ErrorCode::kUnavailable);
      CHECK(clock.since_start() >= row.least);
      CHECK(clock.since_start() <= row.most);
    }
  }
}

TEST_CASE(
    "taking: who was answered once waits through an outage for as long as it waits, but not for what is refused") {
  struct Row {
    Duration outage, wait;
    bool refused, taken;
    Duration least, most;
  };
  const Row rows[] = {{30s, 60s, false, true, 30s, 36s},
                      {60s, 30s, false, false, 30s, 31s},
                      {3s, 60s, true, true, 3s, 4s},
                      {60s, 60s, true, false, 5s, 11s}};
  for (const Row& row : rows) {
    for (const bool at_once : {false, true}) {  // refused, or no answer
      FakeClock clock;
      bool asked = false;
      const auto outage = [&](int /*start*/, const CallLimit& limit) -> Result<StockAnswer> {
        if (!std::exchange(asked, true)) return StockAnswer(StockShort{0, 1});
        if (clock.since_start() >= row.outage) return StockAnswer(StockTaken{{{0, 1}}, {}, false});
        if (!at_once && !row.refused) clock.advance(limit.until - clock.now());
        return Error{.code = ErrorCode::kUnavailable,
                     .message = "no answer",
                     .outage = row.refused ? Outage::kRefused : Outage::kSilent};
      };
      const StockRequest request{*LockName::parse("phone"), *LockName::parse("order")};
      const auto taken = take_when_possible(request, outage, {.until = clock.now() + row.wait}, clock, nullptr);
      REQUIRE(bool(taken) == row.taken);
      if (!taken) CHECK(taken.error().code == ErrorCode::kUnavailable);
      CHECK(clock.since_start() >= row.least);
      CHECK(clock.since_start() <= row.most);
    }
  }
}

TEST_CASE("taking: a crowd at the store is no outage: it is waited for, and 75 is said when the wait is over") {
  struct Row {
    WaitPolicy wait;
    Duration crowd;
    bool taken;
    Duration least, most;
  };
  const TimePoint start = FakeClock::start();
  const Row rows[] = {{{}, 40s, true, 40s, 46s},
                      {{.until = start + 60s}, 40s, true, 40s, 46s},
                      {{.until = start + 30s}, 40s, false, 30s, 31s},
                      {{.until = start + 500ms}, 40s, false, 500ms, 1s},
                      {{.once = true}, 40s, false, 5s, 5200ms},
                      {{.once = true, .connect_timeout = 1s}, 40s, false, 1s, 1200ms}};
  for (const Row& row : rows) {
    for (const bool unanswered : {false, true}) {  // a try before the crowd
      FakeClock clock;
      bool lost = !unanswered;
      const auto crowd = [&](int /*start*/, const CallLimit& limit) -> Result<StockAnswer> {
        if (!std::exchange(lost, true)) return Error{ErrorCode::kUnavailable, "no answer"};
        if (clock.since_start() >= row.crowd) return StockAnswer(StockTaken{{{0, 1}}, {}, false});
        clock.advance(limit.until - clock.now());
        return Error{.code = ErrorCode::kUnavailable, .message = "a crowd", .undone = true, .outage = Outage::kCrowded};
      };
      const StockRequest request{*LockName::parse("phone"), *LockName::parse("order")};
      const auto taken = take_when_possible(request, crowd, row.wait, clock, nullptr);
      REQUIRE(bool(taken) == row.taken);
      if (!taken) {
        CHECK(taken.error().message == "a crowd");
        CHECK(taken.error().code == (unanswered ? ErrorCode::kUnavailable : ErrorCode::kBusy));
        CHECK(taken.error().undone == !unanswered);
      }
      CHECK(clock.since_start() >= row.least);
      CHECK(clock.since_start() <= row.most);
    }
  }
}

TEST_CASE("taking: a last try that had no time left hides nothing of what the one before it was told") {
  FakeClock clock;
  const TimePoint until = clock.now() + 2s;
  const auto told_at_first = [&](int /*start*/, const CallLimit& limit) -> Result<StockAnswer> {
    if (clock.now() < until - 500ms) return Error{ErrorCode::kUnavailable, "too few replicas"};
    clock.advance(limit.until - clock.now());
    return Error{ErrorCode::kUnavailable, "no answer"};
  };
  const StockRequest request{*LockName::parse("phone"), *LockName::parse("order")};
  const auto taken = take_when_possible(request, told_at_first, {.until = until}, clock, nullptr);
  REQUIRE_FALSE(taken);
  CHECK(taken.error().message == "too few replicas");
}

}  // namespace dlock::stock_hold_test
