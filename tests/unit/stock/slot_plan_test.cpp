// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/slot_plan.h"

#include <doctest/doctest.h>

namespace dlock::slot_plan_test {
namespace {

using Quantities = std::vector<Quantity>;

bool same(const std::vector<StockSegment>& a, const std::vector<std::pair<Quantity, Quantity>>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.quantity == y.first && x.reserved == y.second; });
}

}  // namespace

TEST_CASE("slots: a request's home is the same for ever, and homes are spread") {
  CHECK(home_slot(*LockName::parse("order-77"), 8) == 4);
  CHECK(home_slot(*LockName::parse("order-78"), 8) == 1);
  CHECK(home_slot(*LockName::parse("anything"), 1) == 0);
  Quantities homes(8);
  for (int i = 0; i < 8000; ++i) {
    ++homes[static_cast<std::size_t>(home_slot(*LockName::parse("order-" + std::to_string(i)), 8))];
  }
  for (const Quantity home : homes) CHECK((home > 800 && home < 1200));
}

TEST_CASE("slots: parts are told apart by where they lie") {
  const StockParts parts{{0, 1}, {5, 2}, {4, 3}, {2, 4}};
  CHECK(parts_in(parts, 0, 4) == StockParts{{0, 1}, {4, 3}});
  CHECK(parts_in(parts, 3, 4).empty());
  CHECK(slots_of(parts, 4, -1) == std::vector<int>{0, 1, 2});
  CHECK(slots_of(parts, 4, 1) == std::vector<int>{0, 2});
  CHECK(share_of({4, 3, 3, 2, 1}, 0, 2) == Quantities{4, 3, 1});
  CHECK(share_of({4, 3, 3, 2, 1}, 1, 2) == Quantities{3, 2});
  CHECK(share_of({4, 3}, 2, 3) == Quantities{0});  // a place, but no segment
}

TEST_CASE("slots: people see segments, wherever things are") {
  CHECK(same(fold({{{1, 10}, {3, 30}}, {{2, 20}}}, 3), {{1, 10}, {2, 20}, {3, 30}}));
  CHECK(same(fold({{{1, 10}}, {{2, 20}}, {{3, 30}}, {{4, 0}}}, 2), {{4, 40}, {6, 20}}));  // fewer segments than slots
  CHECK(by_number({{{1, 0}, {3, 0}}, {{2, 0}}}) == Quantities{1, 2, 3});
  CHECK(by_number({{{1, 0}}, {{2, 0}, {4, 0}}}) == Quantities{1, 2, 0, 4});
}

TEST_CASE("slots: a levelling is planned once, and read again as it was written") {
  CHECK(plan_levelling(7, 10, 3, 2).targets == Quantities{7, 3});  // 4, 3, 3
  CHECK(plan_levelling(7, 10, 1, 3).targets == Quantities{10, 0, 0});
  CHECK(levelling_text(plan_levelling(7, 10, 3, 2)) == "7 3 7,3");
  const auto again = parse_levelling("7 3 7,3");
  REQUIRE(again);
  CHECK(again->epoch == 7);
  CHECK(again->segments == 3);
  CHECK(again->targets == Quantities{7, 3});
  for (const char* broken : {"", "7", "7 3", "7 3 ", "7 0 1", "7 1001 1", "x 3 1", "7 3 1,x", "7 3 1;2", "-1 3 1"}) {
    CAPTURE(broken);
    CHECK_FALSE(parse_levelling(broken));
  }
}

TEST_CASE("slots: what was poured out is poured in, all of it") {
  CHECK(pour({5, 5}, {5, 0}, 5) == Quantities{0, 5});
  CHECK(pour({5, 5, 5}, {2, 5, 0}, 8) == Quantities{3, 0, 5});
  CHECK(pour({5, 5}, {5, 0}, 3) == Quantities{0, 3});  // something was sold meanwhile
  CHECK(pour({5, 5}, {5, 4}, 9) == Quantities{8, 1});  // something came back meanwhile
  CHECK(pour({5, 5}, {0, 0}, 0) == Quantities{0, 0});
}

}  // namespace dlock::slot_plan_test
