// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <unistd.h>

#include "tests/conformance/stock_fixture.h"

namespace dlock::testing::stock_reservation_test {
namespace {

using namespace std::chrono_literals;
using Quantities = std::vector<Quantity>;

}  // namespace

TEST_CASE("stock: reserve sets aside, confirm sells; each may be asked again") {
  on_every_stock("reserve", [](StockWorld& w) {
    w.create(9, 3);
    const Owner owner = Owner::random();
    StockRequest request = w.request("a", 2);
    request.only_segment = 1;
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
