// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <unistd.h>

#include "tests/conformance/stock_fixture.h"
#include "tests/support/stores.h"

namespace dlock::testing::stock_reservation_test {
namespace {

using namespace std::chrono_literals;
using Quantities = std::vector<Quantity>;

}  // namespace

TEST_CASE("stock: reserve sets aside, confirm sells; each may be asked again") {
  on_every_stock("reserve", [](StockWorld& w) {
    w.create(9, 3);
    const Owner owner = Owner::random();
    const StockRequest request = w.request("a", 2);
    const StockTaken first = taken(w.a.reserve(request, owner, 30s, 1, w.limit()));
    CHECK(first.parts == StockParts{{1, 2}});
    CHECK(first.token.value() > 0);
    const StockTaken again = taken(w.b.reserve(request, owner, 30s, 2, w.limit()));
    CHECK(again.parts == first.parts);
    CHECK_FALSE(again.repeated);
    StockState state = w.state();
    CHECK(state.total() == 7);
    CHECK(reserved_in(state, 1) == 2);
    CHECK(state.open == 1);
    CHECK(w.a.extend(request, owner, 30s, w.limit()));
    CHECK(w.a.confirm(request, owner, w.limit()));
    CHECK(w.b.confirm(request, owner, w.limit()));
    state = w.state();
    CHECK(state.total() == 7);
    CHECK(state.reserved() == 0);
    CHECK(state.taken == 2);
    CHECK(state.open == 0);
    CHECK(taken(w.b.take(request, 0, w.limit())).repeated);
    CHECK(taken(w.b.reserve(request, Owner::random(), 30s, 0, w.limit())).repeated);
    CHECK(code_of(w.a.cancel(request, owner, w.limit())) == ErrorCode::kConflict);  // too late, and harmless
    CHECK(w.state().taken == 2);
  });
}

namespace {

StockRequest with_locks(StockWorld& w, const std::string& id, Quantity quantity) {
  StockRequest request = w.request(id, quantity);
  request.locks = true;
  return request;
}

/// Whether it was told which segment to wait for.
bool is_locked_out(const Result<StockAnswer>& answer) {
  REQUIRE(answer);
  const auto* by = std::get_if<StockInProgress>(&*answer);
  return by != nullptr && by->locked;
}

}  // namespace

TEST_CASE("stock: a reservation with locks has its segments to itself, until it is sold, cancelled or over") {
  on_every_stock("locks", [](StockWorld& w) {
    w.create(12, 2);
    const Owner a = Owner::random(), b = Owner::random(), c = Owner::random();
    const StockRequest first = with_locks(w, "a", 1), second = with_locks(w, "b", 1), third = with_locks(w, "c", 1);
    CHECK(taken(w.a.reserve(first, a, 30s, 0, w.limit())).parts == StockParts{{0, 1}});
    CHECK(taken(w.b.reserve(second, b, 30s, 0, w.limit())).parts == StockParts{{1, 1}});
    CHECK(is_locked_out(w.a.reserve(third, c, 30s, 0, w.limit())));
    CHECK(w.state().segments[1].locked_by == second.id);
    CHECK(w.take("free", 1, 0).parts.size() == 1);  // does not care about locks
    CHECK(w.a.extend(first, a, 30s, w.limit()));
    CHECK(is_locked_out(w.b.reserve(third, c, 30s, 0, w.limit())));
    CHECK(w.a.confirm(first, a, w.limit()));
    CHECK(taken(w.b.reserve(third, c, 30s, 1, w.limit())).parts == StockParts{{0, 1}});
    CHECK(w.b.cancel(second, b, w.limit()));
    CHECK(taken(w.a.reserve(second, b, 100ms, 0, w.limit())).parts == StockParts{{1, 1}});
    const StockRequest both = with_locks(w, "both", 7);
    Result<StockAnswer> answer = w.b.reserve(both, a, 30s, 0, w.limit());
    CHECK(is_locked_out(answer));
    CHECK(w.b.confirm(third, c, w.limit()));
    const TimePoint until = test_clock().now() + 20s;
    while (is_locked_out(answer) && test_clock().now() < until) {  // the other one's time has to be over
      const auto turn = *std::get<StockInProgress>(*answer).locked;
      CHECK(w.b.wait_for(w.name, turn, 100ms, w.limit()));
      answer = w.b.reserve(both, a, 30s, turn.segment, w.limit());
    }
    CHECK(taken(answer).parts.size() == 2);
    CHECK(w.state().segments[0].locked_by == both.id);
    CHECK(w.state().segments[1].locked_by == both.id);
    CHECK(w.b.confirm(both, a, w.limit()));
    CHECK_FALSE(w.state().segments[0].locked_by);
  });
}

TEST_CASE("stock: who is locked out by some locks, and asks again at once, takes from whichever segment is free") {
  on_every_stock("all-locks", [](StockWorld& w) {
    constexpr int kSegments = 24, kFree = 22;
    w.create(2 * kSegments, kSegments);
    const Owner a = Owner::random(), b = Owner::random();
    for (int i = 0; i < kSegments; ++i) {
      const StockRequest held = with_locks(w, "held" + std::to_string(i), 1);
      CHECK(taken(w.a.reserve(held, a, 60s, i, w.limit())).parts == StockParts{{i, 1}});
    }
    CHECK(w.a.cancel(with_locks(w, "held" + std::to_string(kFree), 1), a, w.limit()));
    const StockRequest late = with_locks(w, "late", 1);
    auto answer = w.b.reserve(late, b, 30s, 5, w.limit());
    if (is_locked_out(answer)) {
      CHECK_FALSE(std::get<StockInProgress>(*answer).locked->of_all);
      answer = w.b.reserve(late, b, 30s, 5, w.limit());
    }
    CHECK(taken(answer).parts == StockParts{{kFree, 1}});
  });
}

TEST_CASE("stock: who waits for the lock of a segment goes on when it is free") {
  on_every_stock("turn", [](StockWorld& w) {
    w.create(5, 1);
    const Owner a = Owner::random(), b = Owner::random();
    const StockRequest first = with_locks(w, "a", 1), second = with_locks(w, "b", 1);
    taken(w.a.reserve(first, a, 30s, 0, w.limit()));
    REQUIRE(is_locked_out(w.b.reserve(second, b, 30s, 0, w.limit())));
    CHECK(w.b.wait_for(w.name, {0, 0ms}, 1ms, w.limit()));
    REQUIRE(is_locked_out(w.b.reserve(second, b, 30s, 0, w.limit())));
    CHECK(w.a.confirm(first, a, w.limit()));
    CHECK(w.b.wait_for(w.name, {0, 0ms}, 1ms, w.limit()));
    CHECK(taken(w.b.reserve(second, b, 30s, 0, w.limit())).parts == StockParts{{0, 1}});
    CHECK(w.b.cancel(second, b, w.limit()));
  });
}

TEST_CASE("stock: what is cancelled comes back, and the id is free again") {
  on_every_stock("cancel", [](StockWorld& w) {
    w.create(3, 3);
    const Owner owner = Owner::random();
    const StockRequest request = w.request("a", 3);
    taken(w.a.reserve(request, owner, 30s, 0, w.limit()));
    CHECK(w.a.cancel(request, owner, w.limit()));
    CHECK(w.b.cancel(request, owner, w.limit()));
    CHECK(w.quantities() == Quantities{1, 1, 1});
    CHECK(code_of(w.a.confirm(request, owner, w.limit())) == ErrorCode::kLost);
    CHECK(code_of(w.a.extend(request, owner, 30s, w.limit())) == ErrorCode::kLost);
    CHECK(w.take("a", 1).parts.size() == 1);
  });
}

TEST_CASE("stock: what was sold at once is sold to whoever confirms it, and cannot be cancelled") {
  on_every_stock("sold-at-once", [](StockWorld& w) {
    w.create(3, 1);
    w.take("a", 2);
    const StockRequest request = w.request("a", 2);
    CHECK(w.b.confirm(request, Owner::random(), w.limit()));
    CHECK(code_of(w.b.cancel(request, Owner::random(), w.limit())) == ErrorCode::kConflict);
    CHECK(w.quantities() == Quantities{1});
    CHECK(w.a.refund({w.name, id("a")}, w.limit()));
    CHECK(code_of(w.b.confirm(request, Owner::random(), w.limit())) == ErrorCode::kLost);
    CHECK(w.b.cancel(request, Owner::random(), w.limit()));
  });
}

TEST_CASE("stock: while a command of the id runs nobody else is served under it, and it cannot be refunded") {
  on_every_stock("progress", [](StockWorld& w) {
    w.create(3, 3);
    const Owner owner = Owner::random();
    const StockRequest request = w.request("a", 1);
    taken(w.a.reserve(request, owner, 30s, 0, w.limit()));
    const auto take = w.b.take(request, 0, w.limit());
    REQUIRE(take);
    CHECK(std::holds_alternative<StockInProgress>(*take));
    const auto reserve = w.b.reserve(request, Owner::random(), 30s, 0, w.limit());
    REQUIRE(reserve);
    CHECK(std::holds_alternative<StockInProgress>(*reserve));
    CHECK(code_of(w.b.take(w.request("a", 2), 0, w.limit())) == ErrorCode::kConflict);
    CHECK(code_of(w.b.refund({w.name, id("a")}, w.limit())) == ErrorCode::kBusy);
    CHECK(code_of(w.b.confirm(request, Owner::random(), w.limit())) == ErrorCode::kLost);
    CHECK(w.b.cancel(request, Owner::random(), w.limit()));
    CHECK(w.state().reserved() == 1);
    CHECK(w.a.cancel(request, owner, w.limit()));
  });
}

TEST_CASE("stock: short tells what is there and what may come back") {
  on_every_stock("short", [](StockWorld& w) {
    w.create(4, 2);
    const Owner owner = Owner::random();
    const StockRequest aside = w.request("a", 3);
    taken(w.a.reserve(aside, owner, 30s, 0, w.limit()));
    const StockShort by = too_short(w.b.take(w.request("b", 2), 0, w.limit()));
    CHECK(by.available == 1);
    CHECK(by.reserved == 3);
    CHECK(too_short(w.b.reserve(w.request("b", 2), Owner::random(), 30s, 0, w.limit())).reserved == 3);
    CHECK(w.a.cancel(aside, owner, w.limit()));
    CHECK(w.take("b", 2).parts.size() == 1);
  });
}

TEST_CASE("stock: a reservation whose time is over comes back by itself, and cannot be sold any more") {
  on_every_stock("expiry", [](StockWorld& w) {
    w.create(2, 2);
    const Owner owner = Owner::random();
    const StockRequest request = w.request("a", 2);
    taken(w.a.reserve(request, owner, 30s, 0, w.limit()));
    CHECK(w.a.extend(request, owner, 120ms, w.limit()));
    const auto until = w.limit().until;
    while (w.state().reserved() != 0 && w.limit().until < until + 9s) usleep(5000);
    CHECK(w.quantities() == Quantities{1, 1});
    CHECK(w.state().open == 0);
    CHECK(code_of(w.a.extend(request, owner, 30s, w.limit())) == ErrorCode::kLost);
    CHECK(code_of(w.a.confirm(request, owner, w.limit())) == ErrorCode::kLost);
    CHECK(sum_of(w.take("b", 2).parts) == 2);
    CHECK(too_short(w.a.reserve(request, owner, 30s, 0, w.limit())).available == 0);
  });
}

TEST_CASE("stock: tokens of reservations only grow") {
  on_every_stock("tokens", [](StockWorld& w) {
    w.create(9, 3);
    FencingToken last;
    for (int i = 0; i < 5; ++i) {
      const Owner owner = Owner::random();
      const StockRequest request = w.request("r" + std::to_string(i), 1);
      const StockTaken now = taken((i % 2 ? w.a : w.b).reserve(request, owner, 30s, i, w.limit()));
      CHECK(now.token > last);
      last = now.token;
      CHECK(w.a.cancel(request, owner, w.limit()));
    }
  });
}

}  // namespace dlock::testing::stock_reservation_test
