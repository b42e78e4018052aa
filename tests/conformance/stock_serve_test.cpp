// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <span>
#include <vector>

#include "tests/conformance/stock_fixture.h"

namespace dlock::testing::stock_serve_test {
namespace {

using namespace std::chrono_literals;

const StockTaken& taken_by(const Result<StepAnswer>& answer) {
  INFO((answer ? "another answer" : answer.error().message));
  REQUIRE(answer);
  REQUIRE(std::holds_alternative<StockTaken>(*answer));
  return std::get<StockTaken>(*answer);
}

void takes_in_one_go(StockWorld& w, std::vector<StockStep> steps) {
  w.create(20, 4);
  REQUIRE(w.b.reserve(w.request("mine", 1), Owner::random(), 30s, 3, w.limit()));
  REQUIRE(w.b.refund({.stock = w.name, .id = id("gone"), .before_take = true}, w.limit()));
  const auto first = w.a.serve(w.name, steps, w.limit());
  for (const std::size_t i : {0u, 1u, 4u}) CHECK_FALSE(taken_by(first[i]).repeated);
  REQUIRE(first[2]);
  CHECK(std::holds_alternative<StockInProgress>(*first[2]));
  CHECK(code_of(first[3]) == ErrorCode::kLost);
  for (const std::size_t i : {0u, 1u, 4u}) {
    CHECK(sum_of(taken_by(first[i]).parts) == steps[i].quantity.value_or(1));
  }
  for (StockStep& step : steps) step.start = 7;
  const auto again = w.b.serve(w.name, steps, w.limit());
  for (const std::size_t i : {0u, 1u, 4u}) {
    CHECK(taken_by(again[i]).repeated);
    CHECK(taken_by(again[i]).parts == taken_by(first[i]).parts);
  }
  steps[1].quantity = 5;
  CHECK(code_of(w.a.serve(w.name, steps, w.limit())[1]) == ErrorCode::kConflict);
}

}  // namespace

TEST_CASE("stock: takes in one go, each from one segment further than the one before") {
  on_every_stock("serve-row", [](StockWorld& w) {
    takes_in_one_go(w, {{.id = id("a"), .start = 6},
                        {.id = id("b"), .start = 7},
                        {.id = id("mine"), .start = 8},
                        {.id = id("gone"), .start = 9},
                        {.id = id("c"), .start = 10}});
    CHECK(w.state().taken == 3);
  });
}

TEST_CASE("stock: takes in one go, each as many and from where it says") {
  on_every_stock("serve-each", [](StockWorld& w) {
    takes_in_one_go(w, {{.id = id("a"), .quantity = 2, .start = 1},
                        {.id = id("b"), .quantity = 3, .start = 0},
                        {.id = id("mine"), .start = 1},
                        {.id = id("gone"), .start = 1},
                        {.id = id("c"), .quantity = 2, .start = 2}});
    CHECK(w.state().taken == 7);
  });
}

TEST_CASE("stock: takes in one go are served in their order, also one that no segment has alone") {
  on_every_stock("serve-order", [](StockWorld& w) {
    w.create(101, 20);
    w.take("known", 1);
    std::vector<StockStep> steps{{.id = id("first"), .quantity = 100, .start = 3}};
    for (int i = 1; i <= 5; ++i) steps.push_back({.id = id("small-" + std::to_string(i)), .start = 3 + i});
    const auto answers = w.a.serve(w.name, steps, w.limit());
    CHECK(sum_of(taken_by(answers[0]).parts) == 100);
    for (std::size_t i = 1; i < steps.size(); ++i) {
      REQUIRE(answers[i]);
      REQUIRE(std::holds_alternative<StockShort>(*answers[i]));
      CHECK(std::get<StockShort>(*answers[i]).available == 0);
    }
  });
}

TEST_CASE("stock: steps in one go are answered as their own calls are, in order, each by itself") {
  using Kind = StockStep::Kind;
  on_every_stock("serve", [](StockWorld& w) {
    w.create(5, 2);
    const std::vector<StockStep> steps{
        {.id = id("a"), .quantity = 2},
        {.id = id("a"), .quantity = 2},
        {.id = id("a"), .quantity = 3},  // Conflict
        {.id = id("b"), .quantity = 4},  // short
        {.kind = Kind::kAdd, .id = id("truck"), .quantity = 1},
        {.id = id("b"), .quantity = 4},
        {.kind = Kind::kRefund, .id = id("b"), .quantity = 3},
        {.kind = Kind::kRefund, .id = id("late")},
        {.kind = Kind::kRefund, .id = id("b"), .quantity = 3},
    };
    const auto served = w.a.serve(w.name, steps, w.limit());
    REQUIRE(served.size() == steps.size());
    const auto parts = [&](std::size_t i) {
      INFO(i << ": " << (served[i] ? "" : served[i].error().message));
      REQUIRE(served[i]);
      if (const auto* taken = std::get_if<StockTaken>(&*served[i])) return sum_of(taken->parts);
      REQUIRE(std::holds_alternative<StockMoved>(*served[i]));
      return sum_of(std::get<StockMoved>(*served[i]).parts);
    };
    CHECK(parts(0) == 2);
    CHECK_FALSE(std::get<StockTaken>(*served[0]).repeated);
    CHECK(parts(1) == 2);
    CHECK(std::get<StockTaken>(*served[1]).repeated);
    CHECK(code_of(served[2]) == ErrorCode::kConflict);
    INFO("b: " << (served[3] ? "" : served[3].error().message));
    REQUIRE(served[3]);
    REQUIRE(std::holds_alternative<StockShort>(*served[3]));
    CHECK(std::get<StockShort>(*served[3]).available == 3);
    CHECK(parts(4) == 1);
    CHECK(parts(5) == 4);
    CHECK(parts(6) == 3);
    CHECK_FALSE(std::get<StockMoved>(*served[6]).repeated);
    CHECK(code_of(served[7]) == ErrorCode::kLost);  // it took nothing
    CHECK(parts(8) == 3);
    CHECK(std::get<StockMoved>(*served[8]).repeated);
    CHECK(w.state().total() == 3);
    const std::span takes(steps.data(), 4);
    for (const auto& answer : w.b.serve(id(w.name.text() + ".none"), takes, w.limit())) {
      CHECK(code_of(answer) == ErrorCode::kMisconfigured);
    }
  });
}

}  // namespace dlock::testing::stock_serve_test
