// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/stock/stock_group.h"

#include <doctest/doctest.h>

#include "tests/unit/zookeeper/stock/stock_world.h"

namespace dlock::zookeeper::stock_group_test {

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

TEST_CASE("A group has each request once, one reservation, and so many steps as a server takes in one go") {
  const auto take = [](int number) { return StockStep{.id = id(std::to_string(number))}; };
  const auto reserve = [](int number) { return StockStep{.id = id(std::to_string(number)), .owner = kOwner}; };
  CHECK(group_size(std::vector<StockStep>{}) == 0);
  CHECK(group_size(std::vector<StockStep>{take(1), take(2), take(1)}) == 2);
  CHECK(group_size(std::vector<StockStep>{reserve(1), take(2), reserve(3)}) == 2);
  std::vector<StockStep> many;
  for (int i = 0; i < 1000; ++i) many.push_back(take(i));
  CHECK(group_size(many) == 256);
}

}  // namespace dlock::zookeeper::stock_group_test
