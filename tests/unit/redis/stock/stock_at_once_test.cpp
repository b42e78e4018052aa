// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/stock/stock_batch.h"

#include <doctest/doctest.h>

namespace dlock::testing::stock_at_once_test {
namespace {

const LockName kStock = *LockName::parse("stock");
const LockName kOther = *LockName::parse("other");
const StockRequest kTake{kStock, *LockName::parse("id"), 1};

}  // namespace

TEST_CASE("redis stock: a take is tried as most are where the last one was such a take") {
  redis::TakesAtOnce takes;
  CHECK_FALSE(takes.segment(kTake, 0));
  takes.note(kStock, 5);
  CHECK(takes.segment(kTake, 0) == 0);
  CHECK(takes.segment(kTake, 7) == 2);
  takes.note(kStock, 0);
  CHECK_FALSE(takes.segment(kTake, 0));
}

TEST_CASE("redis stock: another stock makes it forget the one before") {
  redis::TakesAtOnce takes;
  takes.note(kStock, 5);
  takes.note(kOther, 3);
  CHECK_FALSE(takes.segment(kTake, 0));
}

TEST_CASE("redis stock: a take of one segment alone is not one of these") {
  redis::TakesAtOnce takes;
  takes.note(kStock, 5);
  StockRequest one = kTake;
  one.only_segment = 3;
  CHECK_FALSE(takes.segment(one, 0));
}

}  // namespace dlock::testing::stock_at_once_test
