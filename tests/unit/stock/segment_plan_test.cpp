// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/segment_plan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

namespace segment_plan_test {

using namespace dlock;
using Quantities = std::vector<Quantity>;

TEST_CASE("A quantity is spread evenly, the first segments have one more") {
  CHECK(spread(10, 3) == Quantities{4, 3, 3});
  CHECK(spread(1000, 20) == Quantities(20, 50));
  CHECK(spread(2, 5) == Quantities{1, 1, 0, 0, 0});
  CHECK(spread(0, 2) == Quantities{0, 0});
  CHECK(spread(kMostItems, 1) == Quantities{kMostItems});
}

TEST_CASE("A restock goes to the emptiest segments, and only as far as makes them level") {
  struct Row {
    Quantities have;
    Quantity quantity;
    StockParts parts;
  };
  const Row rows[] = {
      {{5}, 3, {{0, 3}}},
      {{0, 2, 3}, 4, {{0, 3}, {1, 1}}},
      {{3, 3, 3}, 4, {{0, 2}, {1, 1}, {2, 1}}},
      {{9, 0, 9}, 5, {{1, 5}}},
      {{9, 0, 9}, 12, {{0, 1}, {1, 10}, {2, 1}}},
      {{4, 1, 4, 1}, 3, {{1, 2}, {3, 1}}},
      {{0, 0, 0}, 2, {{0, 1}, {1, 1}}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.quantity);
    CHECK(fill_emptiest(row.have, row.quantity) == row.parts);
  }
}

TEST_CASE("After a restock those that got something are level, and nobody is emptier than they are") {
  const Quantities before{7, 0, 12, 3, 3, 25};
  for (Quantity quantity = 1; quantity < 150; ++quantity) {
    CAPTURE(quantity);
    Quantities have = before;
    const StockParts parts = fill_emptiest(have, quantity);
    CHECK(sum_of(parts) == quantity);
    Quantity level = 0;
    for (const StockPart& part : parts) {
      level = std::max(level, have[static_cast<std::size_t>(part.segment)] += part.quantity);
    }
    for (const Quantity one : have) CHECK(one >= level - 1);
  }
}

TEST_CASE("A part of what was taken is given back from the first parts on") {
  const StockParts parts{{3, 2}, {0, 4}};
  CHECK(part_of(parts, 0, 6) == parts);
  CHECK(part_of(parts, 0, 3) == StockParts{{3, 2}, {0, 1}});
  CHECK(part_of(parts, 0, 1) == StockParts{{3, 1}});
  CHECK(part_of(parts, 1, 2) == StockParts{{3, 1}, {0, 1}});
  CHECK(part_of(parts, 2, 4) == StockParts{{0, 4}});
}

TEST_CASE("An item of a segment that is no more has a home in one that is") {
  CHECK(home_of(2, 5) == 2);
  CHECK(home_of(7, 5) == 2);
  CHECK(home_of(5, 5) == 0);
  CHECK(home_of(3, 1) == 0);
}

TEST_CASE("The first segment that has all of it, from the start on; else the fullest ones together") {
  struct Row {
    Quantities have;
    int start;
    Quantity quantity;
    std::optional<StockParts> parts;
  };
  const Row rows[] = {
      {{5, 5, 5}, 0, 5, StockParts{{0, 5}}},
      {{5, 5, 5}, 2, 1, StockParts{{2, 1}}},
      {{5, 5, 5}, 7, 1, StockParts{{1, 1}}},
      {{0, 9, 1}, 2, 2, StockParts{{1, 2}}},
      {{0, 0, 0, 1}, 1, 1, StockParts{{3, 1}}},
      {{1, 1, 1}, 0, 3, StockParts{{0, 1}, {1, 1}, {2, 1}}},
      {{1, 1, 1}, 2, 2, StockParts{{2, 1}, {0, 1}}},
      {{2, 4, 3}, 0, 6, StockParts{{1, 4}, {2, 2}}},
      {{1, 1, 1}, 0, 4, std::nullopt},
      {{0}, 0, 1, std::nullopt},
  };
  for (const Row& row : rows) {
    CAPTURE(row.start);
    CAPTURE(row.quantity);
    CHECK(choose_parts(row.have, row.start, row.quantity) == row.parts);
  }
}

TEST_CASE("Whatever is asked for is served exactly if all together have it") {
  const Quantities have{3, 0, 2, 7, 1};
  const Quantity sum = std::accumulate(have.begin(), have.end(), Quantity{0});
  for (Quantity quantity = 1; quantity <= sum + 1; ++quantity) {
    for (int start = 0; start < 5; ++start) {
      const auto parts = choose_parts(have, start, quantity);
      REQUIRE(parts.has_value() == (quantity <= sum));
      if (!parts) continue;
      CHECK(sum_of(*parts) == quantity);
      for (const StockPart& part : *parts) CHECK(part.quantity <= have[static_cast<std::size_t>(part.segment)]);
    }
  }
}

}  // namespace segment_plan_test
