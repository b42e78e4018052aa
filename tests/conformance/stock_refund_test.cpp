// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/conformance/skips.h"
#include "tests/conformance/stock_fixture.h"

namespace dlock::testing::stock_refund_test {
namespace {

using Quantities = std::vector<Quantity>;

}  // namespace

TEST_CASE("stock: refund gives back to the same segments, once") {
  on_every_stock("refund", [](StockWorld& w) {
    w.create(6, 3);
    const StockTaken all = w.take("a", 5);
    const auto back = w.b.refund({w.name, id("a")}, w.limit());
    REQUIRE(back);
    CHECK(back->parts == all.parts);
    CHECK_FALSE(back->repeated);
    CHECK(w.quantities() == Quantities{2, 2, 2});
    const auto again = w.a.refund({w.name, id("a")}, w.limit());
    REQUIRE(again);
    CHECK(again->parts == all.parts);
    CHECK(again->repeated);
    CHECK(w.quantities() == Quantities{2, 2, 2});
    CHECK(w.state().refunded == 5);
    CHECK(code_of(w.a.take(w.request("a", 5), 0, w.limit())) == ErrorCode::kLost);
  });
}

TEST_CASE("stock: a part of it can be refunded, also once; more than was taken cannot") {
  on_every_stock("refund-part", [](StockWorld& w) {
    w.create(6, 3);
    w.take("a", 5);
    CHECK(code_of(w.a.refund({w.name, id("a"), 6}, w.limit())) == ErrorCode::kConflict);
    CHECK(w.state().total() == 1);
    CHECK(sum_of(w.a.refund({w.name, id("a"), 3}, w.limit())->parts) == 3);
    CHECK(sum_of(w.b.refund({w.name, id("a"), 3}, w.limit())->parts) == 3);
    CHECK(w.state().total() == 4);
    CHECK(code_of(w.a.refund({w.name, id("a"), 2}, w.limit())) == ErrorCode::kConflict);
    CHECK(code_of(w.a.refund({w.name, id("a")}, w.limit())) == ErrorCode::kConflict);
    CHECK(w.state().total() == 4);
  });
}

TEST_CASE("stock: parts of it can be refunded, each once under an id of its own") {
  on_every_stock("refund-ids", [](StockWorld& w) {
    w.create(12, 3);
    const StockTaken all = w.take("a", 10);
    const auto refund = [&](Stock& stock, const char* of, std::optional<Quantity> quantity) {
      return stock.refund({w.name, id("a"), quantity, id(of)}, w.limit());
    };
    const auto first = refund(w.a, "r 1", 3);
    REQUIRE(first);
    CHECK(sum_of(first->parts) == 3);
    const auto second = refund(w.b, "r,2", 2);
    REQUIRE(second);
    CHECK(sum_of(second->parts) == 2);
    CHECK(w.state().total() == 7);
    CHECK(refund(w.b, "r 1", 3)->parts == first->parts);
    CHECK(refund(w.a, "r,2", 2)->parts == second->parts);
    for (const std::optional<Quantity> otherwise : {std::optional<Quantity>(2), std::optional<Quantity>()}) {
      CHECK(code_of(refund(w.a, "r 1", otherwise)) == ErrorCode::kConflict);
    }
    CHECK(code_of(refund(w.a, "r3", 6)) == ErrorCode::kConflict);
    CHECK(w.state().refunded == 5);
    const auto one = w.a.refund({w.name, id("a"), 1}, w.limit());
    REQUIRE(one);
    CHECK(w.b.refund({w.name, id("a"), 1}, w.limit())->parts == one->parts);
    CHECK(code_of(w.b.refund({w.name, id("a"), 2}, w.limit())) == ErrorCode::kConflict);
    const auto rest = refund(w.b, "r3", {});
    REQUIRE(rest);
    CHECK(sum_of(rest->parts) == 4);
    CHECK(refund(w.a, "r3", {})->parts == rest->parts);
    CHECK(refund(w.a, "r3", 4)->parts == rest->parts);
    CHECK(code_of(refund(w.a, "r4", {})) == ErrorCode::kConflict);
    CHECK(code_of(refund(w.a, "r4", 1)) == ErrorCode::kConflict);
    CHECK(w.quantities() == Quantities{4, 4, 4});
    CHECK(w.state().refunded == 10);
    CHECK(code_of(w.a.take(w.request("a", 10), 0, w.limit())) == ErrorCode::kLost);
  });
}

TEST_CASE("stock: a request that was refunded without an id is refunded further with one") {
  on_every_stock("refund-then-ids", [](StockWorld& w) {
    w.create(6, 2);
    w.take("a", 6);
    const auto one = w.a.refund({w.name, id("a"), 1}, w.limit());
    REQUIRE(one);
    const auto more = w.b.refund({w.name, id("a"), 2, id("r")}, w.limit());
    REQUIRE(more);
    CHECK(sum_of(more->parts) == 2);
    CHECK(w.b.refund({w.name, id("a"), 1}, w.limit())->parts == one->parts);
    CHECK(w.a.refund({w.name, id("a"), 2, id("r")}, w.limit())->parts == more->parts);
    CHECK(w.state().refunded == 3);
  });
}

TEST_CASE("stock: a request has so many refunds, and then no more") {
  on_every_stock("refund-many", [](StockWorld& w) {
    w.create(200, 2);
    w.take("a", 200);
    std::vector<StockStep> steps;
    for (std::size_t i = 0; i <= kMostRefunds; ++i) {
      steps.push_back(
          {.kind = StockStep::Kind::kRefund, .id = id("a"), .quantity = 1, .refund_id = id(std::to_string(i))});
    }
    const auto served = w.a.serve(w.name, steps, w.limit());
    REQUIRE(served.size() == kMostRefunds + 1);
    for (std::size_t i = 0; i < kMostRefunds; ++i) CHECK(served[i]);
    CHECK(code_of(served.back()) == ErrorCode::kConflict);
    CHECK(w.state().refunded == static_cast<Quantity>(kMostRefunds));
    CHECK(w.b.refund({w.name, id("a"), 1, id("7")}, w.limit()));
    CHECK(w.state().refunded == static_cast<Quantity>(kMostRefunds));
  });
}

TEST_CASE("stock: a refund of what took nothing changes nothing, unless it is to make the late take fail") {
  on_every_stock("refund-first", [](StockWorld& w) {
    w.create(6, 3);
    CHECK(code_of(w.a.refund({w.name, id("soon")}, w.limit())) == ErrorCode::kLost);
    CHECK(w.take("soon", 1).parts.size() == 1);
    CHECK(w.b.refund({w.name, id("soon")}, w.limit()));
    const StockRefund closes{.stock = w.name, .id = id("late"), .before_take = true};
    const auto nothing = w.a.refund(closes, w.limit());
    REQUIRE(nothing);
    CHECK(nothing->parts.empty());
    CHECK_FALSE(nothing->repeated);
    CHECK(code_of(w.b.take(w.request("late", 1), 0, w.limit())) == ErrorCode::kLost);
    CHECK(code_of(w.b.reserve(w.request("late", 1), Owner::random(), 10s, 0, w.limit())) == ErrorCode::kLost);
    const auto again = w.b.refund(closes, w.limit());
    REQUIRE(again);
    CHECK(again->parts.empty());
    CHECK(again->repeated);
    CHECK(code_of(w.a.refund({w.name, id("late")}, w.limit())) == ErrorCode::kLost);
    const auto added = w.a.add(w.name, id("late"), 1, w.limit());
    REQUIRE(code_of(added) == ErrorCode::kConflict);
    CHECK(added.error().message == "request 'late' was closed by a refund before its take: it is no restock");
    CHECK(w.state().total() == 6);
  });
}

}  // namespace dlock::testing::stock_refund_test
