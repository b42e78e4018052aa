// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/stock_hold.h"

#include <doctest/doctest.h>

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

TEST_CASE("stock hold: what is set aside is sold when the command ended with 0, and only then") {
  struct Row {
    std::optional<int> wait_status;
    Quantity sold;
  };
  for (const Row& row : {Row{0, 2}, Row{1 << 8, 0}, Row{9, 0}, Row{std::nullopt, 0}}) {
    StockHoldWorld w({5, 5});
    StockHold hold = w.hold(2);
    const Granted grant = granted(hold.acquire(w.control));
    CHECK(parse_parts(grant.locks.front().parts)->size() == 1);
    CHECK(grant.deadline == lease_deadline(FakeClock::start(), w.wish.ttl));
    CHECK(w.aside() == 2);
    if (row.wait_status) hold.command_ended(*row.wait_status);
    CHECK(hold.release(w.soon()));
    CHECK(w.shelf.taken == row.sold);
    CHECK(w.there() == 10 - row.sold);
    CHECK(w.aside() == 0);
  }
}

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

TEST_CASE("stock hold: short is said at once when nothing can come back") {
  StockHoldWorld w({1, 1});
  StockHold hold = w.hold(3);
  CHECK(refused(hold.acquire(w.control)).code == ErrorCode::kShort);
  CHECK(w.clock.since_start() == 0s);
  CHECK(w.shelf.calls == 1);
}

TEST_CASE("stock hold: short is not said while others may give back") {
  StockHoldWorld w({2});
  MemoryStock other(w.shelf);
  const StockRequest theirs{w.wish.name, *LockName::parse("theirs"), 2};
  const Owner owner = Owner::random();
  REQUIRE(other.reserve(theirs, owner, 10s, 0, {}));
  SUBCASE("they give back: it is ours") {
    w.clock.next_happening = [&]() -> std::optional<TimePoint> {
      if (w.clock.since_start() > 2s) REQUIRE(other.cancel(theirs, owner, {}));
      return std::nullopt;
    };
    StockHold hold = w.hold(2);
    granted(hold.acquire(w.control));
    CHECK(w.clock.since_start() > 2s);
    CHECK(w.clock.since_start() < 3s);
  }
  SUBCASE("they sell: it is short") {
    w.clock.next_happening = [&]() -> std::optional<TimePoint> {
      if (w.clock.since_start() > 2s) REQUIRE(other.confirm(theirs, owner, {}));
      return std::nullopt;
    };
    StockHold hold = w.hold(2);
    CHECK(refused(hold.acquire(w.control)).code == ErrorCode::kShort);
    CHECK(w.clock.since_start() > 2s);
  }
  SUBCASE("they die: it comes back when their time is over") {
    StockHold hold = w.hold(2);
    granted(hold.acquire(w.control));
    CHECK(w.clock.since_start() >= 10s);
  }
  SUBCASE("nobody waits: busy, not short") {
    w.wish.wait.once = true;
    StockHold hold = w.hold(2);
    CHECK(refused(hold.acquire(w.control)).code == ErrorCode::kBusy);
    CHECK(w.shelf.calls == 2);
  }
  SUBCASE("the wait ends first: busy") {
    w.wish.wait.until = w.clock.now() + 3s;
    StockHold hold = w.hold(2);
    CHECK(refused(hold.acquire(w.control)).code == ErrorCode::kBusy);
    CHECK(w.clock.since_start() >= 3s);
    CHECK(w.clock.since_start() < 4s);
  }
  SUBCASE("more is wanted than could come back: short at once") {
    StockHold hold = w.hold(3);
    CHECK(refused(hold.acquire(w.control)).code == ErrorCode::kShort);
    CHECK(w.clock.since_start() == 0s);
  }
  SUBCASE("the wait is given up: nothing is left") {
    w.control.stop_at = w.clock.now() + 1s;
    StockHold hold = w.hold(2);
    CHECK_FALSE(hold.acquire(w.control));
    CHECK(w.aside() == 2);
  }
}

TEST_CASE("stock hold: a request that was served before runs nothing") {
  StockHoldWorld w({5});
  StockHold first = w.hold(2);
  granted(first.acquire(w.control));
  first.command_ended(0);
  REQUIRE(first.release(w.soon()));
  w.wish.owner = Owner::random();
  StockHold again = w.hold(2);
  CHECK(refused(again.acquire(w.control)).code == ErrorCode::kRepeated);
  CHECK(w.shelf.taken == 2);
}

TEST_CASE("stock hold: renewing makes the reservation longer; one that is over is lost") {
  StockHoldWorld w({5});
  StockHold hold = w.hold(2);
  granted(hold.acquire(w.control));
  w.clock.advance(20s);
  const auto renewed = hold.renew(w.control, w.soon());
  REQUIRE(std::holds_alternative<RenewalRenewed>(renewed));
  CHECK(std::get<RenewalRenewed>(renewed).deadline == lease_deadline(w.clock.now(), 30s));
  w.shelf.unanswered = 1;
  CHECK(std::holds_alternative<RenewalUnknown>(hold.renew(w.control, w.soon())));
  w.clock.advance(31s);
  CHECK(std::holds_alternative<RenewalLost>(hold.renew(w.control, w.soon())));
  hold.command_ended(0);
  const auto sold = hold.release(w.soon());
  REQUIRE_FALSE(sold);
  CHECK(sold.error().code == ErrorCode::kLost);
  CHECK(w.shelf.taken == 0);
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

TEST_CASE("insist: asks again while nothing is known, and no longer than it may") {
  FakeClock clock;
  int calls = 0;
  const auto silent = [&](const CallLimit&) -> Result<void> {
    ++calls;
    return Error{ErrorCode::kUnavailable, "no answer"};
  };
  CHECK_FALSE(insist(silent, clock.now() + 2s, clock, nullptr));
  CHECK(calls > 5);
  CHECK(clock.since_start() <= 2s);
  calls = 0;
  const auto refusing = [&](const CallLimit&) -> Result<void> {
    ++calls;
    return Error{ErrorCode::kConflict, "no"};
  };
  CHECK(insist(refusing, clock.now() + 2s, clock, nullptr).error().code == ErrorCode::kConflict);
  CHECK(calls == 1);
}

TEST_CASE("insist: a last try that had no time left hides nothing of what the one before it was told") {
  FakeClock clock;
  const TimePoint until = clock.now() + 2s;
  const auto told_at_first = [&](const CallLimit& limit) -> Result<void> {
    if (clock.now() < until - 500ms) return Error{ErrorCode::kUnavailable, "a read-only replica"};
    clock.advance(limit.until - clock.now());
    return Error{ErrorCode::kUnavailable, "no answer"};
  };
  CHECK(insist(told_at_first, until, clock, nullptr).error().message == "a read-only replica");
  CHECK(clock.now() == until);
  const auto silent = [&](const CallLimit& limit) -> Result<void> {
    clock.advance(limit.until - clock.now());
    return Error{ErrorCode::kUnavailable, "no answer"};
  };
  CHECK(insist(silent, clock.now() + 2s, clock, nullptr).error().message == "no answer");
}

}  // namespace dlock::stock_hold_test
