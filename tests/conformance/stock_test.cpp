// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>

#include "tests/conformance/skips.h"
#include "tests/conformance/stock_fixture.h"
#include "tests/support/stores.h"

namespace dlock::testing::stock_test {
namespace {

using namespace std::chrono_literals;
using Quantities = std::vector<Quantity>;

}  // namespace

TEST_CASE("stock: create spreads evenly, and leaves a stock of that name alone") {
  on_every_stock("create", [](StockWorld& w) {
    w.create(10, 3);
    CHECK(w.quantities() == Quantities{4, 3, 3});
    CHECK(code_of(w.b.create(w.name, 99, 1, Owner::random(), w.limit())) == ErrorCode::kConflict);
    CHECK(w.quantities() == Quantities{4, 3, 3});
    const StockState state = w.state();
    CHECK(state.created == 10);
    CHECK(state.added + state.taken + state.refunded + state.open + state.reserved() == 0);
  });
}

TEST_CASE("stock: who made it can ask again whether it did, because the answer was lost") {
  on_every_stock("create-again", [](StockWorld& w) {
    const Owner maker = Owner::random();
    CHECK(w.a.create(w.name, 5, 2, maker, w.limit()));
    w.take("before", 1);
    CHECK(w.b.create(w.name, 5, 2, maker, w.limit()));
    CHECK(w.state().total() == 4);
  });
}

TEST_CASE("stock: one that is not there is said to be missing, by every call") {
  on_every_stock("missing", [](StockWorld& w) {
    const StockRequest request = w.request("r", 1);
    const Owner owner = Owner::random();
    CHECK(code_of(w.a.show(w.name, w.limit())) == ErrorCode::kMisconfigured);
    CHECK(code_of(w.a.take(request, 0, w.limit())) == ErrorCode::kMisconfigured);
    CHECK(code_of(w.a.reserve(request, owner, 10s, 0, w.limit())) == ErrorCode::kMisconfigured);
    CHECK(code_of(w.a.refund({w.name, id("r")}, w.limit())) == ErrorCode::kMisconfigured);
    CHECK(code_of(w.a.add(w.name, id("r"), 1, w.limit())) == ErrorCode::kMisconfigured);
    CHECK(code_of(w.a.rebalance(w.name, w.limit())) == ErrorCode::kMisconfigured);
    CHECK(code_of(w.a.resize(w.name, 2, w.limit())) == ErrorCode::kMisconfigured);
    CHECK(code_of(w.a.drop(w.name, w.limit())) == ErrorCode::kMisconfigured);
    CHECK(w.a.cancel(request, owner, w.limit()));  // nothing is set aside
  });
}

TEST_CASE("stock: all names are listed in order") {
  on_every_stock("names", [](StockWorld& w) {
    w.create(1, 1);
    const LockName odd = id(w.name.text() + " {a}:meta {b} ü");
    const LockName hexed = id("x:" + w.name.text());
    CHECK(w.a.create(odd, 1, 1, Owner::random(), w.limit()));
    CHECK(w.a.create(hexed, 1, 1, Owner::random(), w.limit()));
    const auto names = w.b.names(w.limit());
    REQUIRE(names);
    CHECK(std::is_sorted(names->begin(), names->end()));
    for (const LockName& one : {w.name, odd, hexed}) CHECK(std::count(names->begin(), names->end(), one) == 1);
    CHECK(w.a.drop(odd, w.limit()));
    CHECK(w.a.drop(hexed, w.limit()));
  });
}

TEST_CASE("stock: take deducts from the segment it begins with, the next one when that is short") {
  on_every_stock("take", [](StockWorld& w) {
    w.create(9, 3);
    CHECK(w.take("a", 3, 1).parts == StockParts{{1, 3}});
    CHECK(w.take("b", 1, 1).parts == StockParts{{2, 1}});
    CHECK(w.take("c", 3, 100).parts == StockParts{{0, 3}});  // 100 % 3 = 1 is empty, 2 has two
    CHECK(w.quantities() == Quantities{0, 0, 2});
    CHECK(w.state().taken == 7);
  });
}

TEST_CASE("stock: the same id has the same answer and takes once; with another quantity it is refused") {
  on_every_stock("repeat", [](StockWorld& w) {
    w.create(9, 3);
    const StockTaken first = w.take("a", 2, 1);
    CHECK_FALSE(first.repeated);
    const StockTaken again = taken(w.b.take(w.request("a", 2), 2, w.limit()));
    CHECK(again.parts == first.parts);
    CHECK(again.repeated);
    CHECK(code_of(w.b.take(w.request("a", 3), 0, w.limit())) == ErrorCode::kConflict);
    CHECK(w.state().total() == 7);
  });
}

TEST_CASE("stock: what no segment has alone is gathered from several, all or nothing") {
  on_every_stock("gather", [](StockWorld& w) {
    w.create(3, 3);
    CHECK(too_short(w.a.take(w.request("a", 4), 0, w.limit())).available == 3);
    CHECK(w.quantities() == Quantities{1, 1, 1});
    CHECK(w.take("a", 3).parts.size() == 3);  // the id is free: short is no answer to remember
    CHECK(w.quantities() == Quantities{0, 0, 0});
  });
}

TEST_CASE("stock: the last item is found in one request, wherever it begins") {
  on_every_stock("last", [](StockWorld& w) {
    w.create(20, 20);
    for (int i = 0; i < 20; ++i) CHECK(sum_of(w.take("r" + std::to_string(i), 1, 0).parts) == 1);
    CHECK(too_short(w.a.take(w.request("more", 1), 7, w.limit())).available == 0);
    CHECK(sum_of(w.a.add(w.name, id("one"), 1, w.limit())->parts) == 1);
    CHECK(sum_of(w.take("last", 1, 13).parts) == 1);
  });
}

TEST_CASE("stock: add fills the emptiest segments, once per id") {
  on_every_stock("add", [](StockWorld& w) {
    w.create(9, 3);
    w.take_from(0, "a", 3);
    w.take_from(1, "b", 2);
    const auto first = w.a.add(w.name, id("truck"), 4, w.limit());
    REQUIRE(first);
    CHECK(first->parts == StockParts{{0, 3}, {1, 1}});
    CHECK_FALSE(first->repeated);
    CHECK(w.quantities() == Quantities{3, 2, 3});
    const auto again = w.b.add(w.name, id("truck"), 4, w.limit());
    REQUIRE(again);
    CHECK(again->parts == first->parts);
    CHECK(again->repeated);
    CHECK(w.quantities() == Quantities{3, 2, 3});
    CHECK(code_of(w.a.add(w.name, id("truck"), 5, w.limit())) == ErrorCode::kConflict);
    CHECK(w.state().added == 4);
  });
}

TEST_CASE("stock: the id of a restock is no id of a take, and the other way round") {
  on_every_stock("ids", [](StockWorld& w) {
    w.create(9, 3);
    CHECK(w.a.add(w.name, id("truck"), 4, w.limit()));
    w.take("order", 1);
    CHECK(code_of(w.a.take(w.request("truck", 4), 0, w.limit())) == ErrorCode::kConflict);
    CHECK(code_of(w.a.reserve(w.request("truck", 4), Owner::random(), 10s, 0, w.limit())) == ErrorCode::kConflict);
    CHECK(code_of(w.a.refund({w.name, id("truck")}, w.limit())) == ErrorCode::kConflict);
    CHECK(code_of(w.a.add(w.name, id("order"), 1, w.limit())) == ErrorCode::kConflict);
    CHECK(w.state().total() == 12);
  });
}

TEST_CASE("stock: what is remembered of requests is listed, the newest first") {
  on_every_stock("requests", [](StockWorld& w) {
    w.create(20, 2);
    const auto remembers = [&](std::size_t most, std::vector<std::string> wanted) {
      const auto known = w.b.requests(w.name, most, w.limit());
      INFO((known ? std::string() : known.error().message));
      REQUIRE(known);
      std::vector<std::string> found;
      for (const KnownRequest& one : *known) {
        found.push_back(one.id.text() + " " + one.kind + " " + one.state + " " + std::to_string(one.quantity) + " " +
                        std::to_string(one.refunded) + " " + std::to_string(sum_of(one.parts)));
        CHECK(one.changed_us > 0);
      }
      CHECK(found == wanted);
    };
    const auto pass = [] { test_clock().sleep_until(test_clock().now() + 5ms); };  // a store may stamp milliseconds
    remembers(9, {});
    w.take("a", 2);
    pass();
    const Owner owner = Owner::random();
    taken(w.a.reserve(w.request("b", 12), owner, 30s, 0, w.limit()));
    pass();
    CHECK(w.a.add(w.name, id("truck"), 3, w.limit()));
    remembers(9, {"truck add added 3 0 3", "b run reserved 12 0 12", "a take sold 2 0 2"});
    remembers(1, {"truck add added 3 0 3"});
    pass();
    CHECK(w.a.confirm(w.request("b", 12), owner, w.limit()));
    pass();
    CHECK(w.a.refund({w.name, id("b"), 5, id("r")}, w.limit()));
    pass();
    CHECK(w.a.refund({.stock = w.name, .id = id("late"), .before_take = true}, w.limit()));
    pass();
    taken(w.a.reserve(w.request("dead", 1), Owner::random(), 50ms, 0, w.limit()));
    test_clock().sleep_until(test_clock().now() + 300ms);
    remembers(3, {"late refund closed 0 0 0", "b run refunded 12 5 12", "truck add added 3 0 3"});
    CHECK(code_of(w.b.requests(id(w.name.text() + ".none"), 1, w.limit())) == ErrorCode::kMisconfigured);
  });
}

TEST_CASE("stock: rebalance levels what can be taken, and leaves alone what is set aside") {
  on_every_stock("rebalance", [](StockWorld& w) {
    w.create(12, 3);
    const Owner owner = Owner::random();
    w.take_from(0, "a", 4);
    const StockRequest aside = w.request("b", 3);
    taken(w.a.reserve(aside, owner, 30s, 1, w.limit()));
    CHECK(w.quantities() == Quantities{0, 1, 4});
    CHECK(w.b.rebalance(w.name, w.limit()));
    CHECK(w.quantities() == Quantities{2, 2, 1});
    CHECK(reserved_in(w.state(), 1) == 3);
    CHECK(w.a.cancel(aside, owner, w.limit()));
    CHECK(w.quantities() == Quantities{2, 5, 1});
  });
}

TEST_CASE("stock: resize loses nothing: not what is set aside, not what comes back later") {
  on_every_stock("resize", [](StockWorld& w) {
    w.create(12, 4);
    const Owner sold = Owner::random();
    const Owner lost = Owner::random();
    w.take("old", 3, 3);  // from a segment that will be gone
    taken(w.a.reserve(w.request("sold", 2), sold, 30s, 2, w.limit()));
    taken(w.a.reserve(w.request("lost", 3), lost, 30s, 1, w.limit()));
    CHECK(w.b.resize(w.name, 2, w.limit()));
    StockState state = w.state();
    CHECK(state.segments.size() == 2);
    CHECK(state.total() == 4);
    CHECK(state.reserved() == 5);
    CHECK(state.taken == 3);
    CHECK(w.b.resize(w.name, 7, w.limit()));
    CHECK(w.quantities() == Quantities{1, 1, 1, 1, 0, 0, 0});
    CHECK(w.b.resize(w.name, 1, w.limit()));
    CHECK(w.a.confirm(w.request("sold", 2), sold, w.limit()));
    CHECK(w.a.cancel(w.request("lost", 3), lost, w.limit()));
    CHECK(sum_of(w.a.refund({w.name, id("old")}, w.limit())->parts) == 3);
    CHECK(w.quantities() == Quantities{10});
    state = w.state();
    CHECK(state.reserved() == 0);
    CHECK(state.taken == 5);
    CHECK(state.refunded == 3);
  });
}

TEST_CASE("stock: drop forgets the stock and its requests") {
  on_every_stock("drop", [](StockWorld& w) {
    w.create(4, 2);
    const Owner owner = Owner::random();
    w.take("a", 1);
    taken(w.a.reserve(w.request("b", 1), owner, 30s, 0, w.limit()));
    CHECK(w.b.drop(w.name, w.limit()));
    CHECK(code_of(w.a.show(w.name, w.limit())) == ErrorCode::kMisconfigured);
    CHECK(code_of(w.a.extend(w.request("b", 1), owner, 30s, w.limit())) == ErrorCode::kLost);
    CHECK(code_of(w.a.confirm(w.request("b", 1), owner, w.limit())) == ErrorCode::kLost);
    w.create(4, 2);
    CHECK(code_of(w.a.extend(w.request("b", 1), owner, 30s, w.limit())) == ErrorCode::kLost);
    CHECK(code_of(w.a.confirm(w.request("b", 1), owner, w.limit())) == ErrorCode::kLost);
    CHECK_FALSE(w.take("a", 2).repeated);
    CHECK(w.state().total() == 2);
  });
}

TEST_CASE("stock: a quantity as large as can be, and a thousand segments") {
  on_every_stock("large", [](StockWorld& w) {
    w.create(kMostItems, kMostSegments);
    CHECK(w.state().total() == kMostItems);
    const Quantity half = kMostItems / 2;
    CHECK(sum_of(w.take("half", half, 500).parts) == half);
    CHECK(w.state().total() == kMostItems - half);
    CHECK(w.b.resize(w.name, 1, w.limit()));
    CHECK(w.quantities() == Quantities{kMostItems - half});
  });
}

TEST_CASE("stock: what was taken may come back, so a restock leaves room for it") {
  on_every_stock("room", [](StockWorld& w) {
    w.create(kMostItems - 3, 2);
    CHECK(sum_of(w.take("all", kMostItems - 3).parts) == kMostItems - 3);
    CHECK(code_of(w.a.add(w.name, id("too-much"), 4, w.limit())) == ErrorCode::kConflict);
    CHECK(w.a.add(w.name, id("truck"), 2, w.limit()));
    const std::vector<StockStep> steps{{.kind = StockStep::Kind::kAdd, .id = id("last"), .quantity = 1},
                                       {.kind = StockStep::Kind::kAdd, .id = id("one-more"), .quantity = 1}};
    const auto served = w.b.serve(w.name, steps, w.limit());
    REQUIRE(served.size() == 2);
    CHECK(served[0]);
    CHECK(code_of(served[1]) == ErrorCode::kConflict);
    const auto back = w.b.refund({w.name, id("all")}, w.limit());
    REQUIRE(back);
    CHECK(sum_of(back->parts) == kMostItems - 3);
    CHECK(w.state().total() == kMostItems);
  });
}

TEST_CASE("stock: ids of any form are told apart") {
  on_every_stock("odd-ids", [](StockWorld& w) {
    w.create(100, 3);
    Quantity sum = 100;
    for (const char* odd : {"a", "a ", "A", "{a}", "%41", "a:b", "ä", "'; DROP TABLE stock; --", "a:meta", "*", "\\"}) {
      CHECK_FALSE(w.take(odd, 1).repeated);
      CHECK(w.state().total() == --sum);
    }
  });
}

}  // namespace dlock::testing::stock_test
