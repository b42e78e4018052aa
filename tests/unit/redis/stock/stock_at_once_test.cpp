// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/stock/stock_at_once.h"

#include <doctest/doctest.h>

namespace dlock::testing::stock_at_once_test {
namespace {

const LockName kStock = *LockName::parse("stock");
const LockName kOther = *LockName::parse("other");

StockPlace place(int slot, const LockName& stock = kStock) { return {stock, slot}; }
SlotTake take(int start) { return {{kStock, *LockName::parse("id"), 1}, "", Duration(0), start}; }

}  // namespace

TEST_CASE("redis stock: a take is tried as most are where the last one was such a take") {
  redis::TakesAtOnce takes(2);
  CHECK_FALSE(takes.segment(place(0), take(0)));
  takes.note(place(0), 5);
  CHECK(takes.segment(place(0), take(0)) == 0);
  CHECK_FALSE(takes.segment(place(1), take(0)));
  CHECK_FALSE(takes.segment(place(0, kOther), take(0)));
  takes.note(place(0), 0);
  CHECK_FALSE(takes.segment(place(0), take(0)));
}

TEST_CASE("redis stock: another stock makes it forget the one before") {
  redis::TakesAtOnce takes(1);
  takes.note(place(0), 5);
  takes.note(place(0, kOther), 3);
  CHECK_FALSE(takes.segment(place(0), take(0)));
  takes.note(place(0), 5);
  CHECK(takes.segment(place(0), take(7)) == 2);
}

TEST_CASE("redis stock: where a take begins is the place of its slot that the scripts would begin with") {
  redis::TakesAtOnce takes(3);
  const struct {
    int slot, segments, start, segment;
  } rows[] = {{0, 7, 0, 0}, {0, 7, 2, 6}, {0, 7, 3, 0}, {1, 7, 1, 4},       {1, 7, 2, 1},
              {2, 7, 5, 5}, {2, 2, 9, 2}, {2, 3, 9, 2}, {0, 1, 16777215, 0}};
  for (const auto& row : rows) {
    takes.note(place(row.slot), row.segments);
    CHECK(takes.segment(place(row.slot), take(row.start)) == row.segment);
  }
}

TEST_CASE("redis stock: a take of one segment alone, or that sets aside, is none of these") {
  redis::TakesAtOnce takes(1);
  takes.note(place(0), 5);
  SlotTake one = take(0);
  one.request.only_segment = 3;
  CHECK_FALSE(takes.segment(place(0), one));
  SlotTake aside = take(0);
  aside.owner = "00";
  CHECK_FALSE(takes.segment(place(0), aside));
}

}  // namespace dlock::testing::stock_at_once_test
