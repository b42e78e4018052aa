// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/stock/stock_tree.h"

#include <doctest/doctest.h>

#include "tests/unit/zookeeper/stock/stock_world.h"

namespace dlock::zookeeper::stock_tree_test {

using namespace testing;

TEST_CASE("Steps of many requests are one transaction, and what it loses to somebody else is decided again") {
  World w;
  w.create(1000, 4);
  std::vector<StockStep> steps;
  for (int i = 0; i < 100; ++i) steps.push_back({.id = id(std::to_string(i)), .start = 2});
  const auto stock = w.client();
  const auto other = w.client();
  int changes = 0;
  w.ensemble.before_each = [&](const FakeEnsemble::FakeSession& /*session*/, const Request& request) {
    if (request.changes.size() < 100) return;
    if (++changes == 2) CHECK(other->take({kPhone, id("other"), 1, 2}, 2, w.limit()));
  };
  for (const auto& answer : stock->serve(kPhone, steps, w.limit())) CHECK(answer);
  CHECK(changes == 3);  // one makes the directories, one loses its race
  CHECK(w.state().taken == 101);
  CHECK(w.quantities() == Quantities{250, 250, 249, 150});
}

TEST_CASE("A group has each request once, and so many steps as a server takes in one go") {
  const auto take = [](int number) { return StockStep{.id = id(std::to_string(number))}; };
  World w;
  const StockTree tree(w.opened(), {w.clock, w.log});
  const auto group_size = [&](const std::vector<StockStep>& steps) { return tree.together(steps); };
  CHECK(group_size(std::vector<StockStep>{take(1), take(2), take(1)}) == 2);
  std::vector<StockStep> many;
  for (int i = 0; i < 1000; ++i) many.push_back(take(i));
  CHECK(group_size(many) == 256);
}

TEST_CASE("A take reads its request and one segment, and writes one transaction; so does a sale") {
  World w;
  w.create(90, 20);
  const auto stock = w.client();
  w.ensemble.nodes.try_emplace(parent_of(request_path(w.life(), id("b"))));
  REQUIRE(stock->reserve(order("a", 1), kOwner, 60s, 3, w.limit()));
  const auto requests_of = [&](const auto& call) {
    const int before = w.ensemble.requests;
    CHECK(call());
    return w.ensemble.requests - before;
  };
  CHECK(requests_of([&] { return stock->take(order("b", 2), 3, w.limit()); }) == 3);
  CHECK(requests_of([&] { return stock->confirm(order("a", 1), kOwner, w.limit()); }) == 3);
  CHECK(requests_of([&] { return stock->take(order("b", 2), 3, w.limit()); }) == 6);  // all again, after a sync
}

TEST_CASE("Who hears in a group what there is in all writes only if none of it has changed meanwhile") {
  World w;
  w.create(9, 3);
  const auto stock = w.client();
  const auto other = w.client();
  bool raced = false;
  w.ensemble.before_each = [&](const FakeEnsemble::FakeSession& /*session*/, const Request& request) {
    if (request.kind != Request::Kind::kChange || request.changes.size() < 4 || std::exchange(raced, true)) return;
    REQUIRE(other->add(kPhone, id("truck"), 9, w.limit()));
  };
  const std::vector<StockStep> steps{{.id = id("a"), .quantity = 1}, {.id = id("b"), .quantity = 10}};
  const auto answers = stock->serve(kPhone, steps, w.limit());
  CHECK(raced);
  for (const auto& answer : answers) CHECK(std::holds_alternative<StockTaken>(*answer));
  CHECK(w.state().total() == 7);
}

}  // namespace dlock::zookeeper::stock_tree_test
