// SPDX-License-Identifier: Apache-2.0
#include "cmd/verify/stocktaking.h"

#include <doctest/doctest.h>

namespace verify_stocktaking_test {

using namespace dlock;

TEST_CASE("verify: the books of a stock are read from what stock show prints") {
  const auto books = parse_books(
      R"({"schema":"dlock.stock/1","name":"s","total":41,"reserved":2,"open":1,"created":60,"added":0,"taken":20,)"
      R"("refunded":3,"segments":[{"segment":0,"quantity":41,"reserved":2}]})");
  REQUIRE(books);
  CHECK(books->total == 41);
  CHECK(books->reserved == 2);
  CHECK(books->open == 1);
  CHECK(books->taken == 20);
  CHECK(books->refunded == 3);
  CHECK(!parse_books("{}"));
  CHECK(!parse_books(""));
}

TEST_CASE("verify: a worker buys one to three items, as many whenever it asks again") {
  for (const char* section : {"s.0.1", "s.1.1", "s.7.99"}) {
    CHECK(quantity_of(section) >= 1);
    CHECK(quantity_of(section) <= 3);
    CHECK(quantity_of(section) == quantity_of(std::string(section)));
  }
}

}  // namespace verify_stocktaking_test
