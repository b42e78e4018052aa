// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/store_table.h"

#include <doctest/doctest.h>

#include <stdexcept>

namespace dlock::testing::store_table_test {

TEST_CASE("a table of stores: five parts a row, blanks and comments beside them") {
  const auto rows = parse_store_table(
      "# stores\n"
      "lock | a, b | DLOCK_TEST_A | ?x=1&y=2 | shared  permits # two\n"
      "\n"
      "stock|c|DIRECTORY||");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].port == "lock");
  CHECK(rows[0].name == "a, b");
  CHECK(rows[0].variable == "DLOCK_TEST_A");
  CHECK(rows[0].rest == "?x=1&y=2");
  CHECK(rows[0].lacks == std::set<std::string>{"permits", "shared"});
  CHECK(rows[1].name == "c");
  CHECK(rows[1].variable == kOwnDirectory);
  CHECK(rows[1].lacks.empty());
}

TEST_CASE("a row with other than five parts, and a word that no store can lack, are refused") {
  CHECK_THROWS_AS(parse_store_table("lock | a | DLOCK_TEST_A | shared"), std::runtime_error);
  CHECK_THROWS_AS(stores_of("lock", "/tmp", {"shared"}), std::runtime_error);
}

}  // namespace dlock::testing::store_table_test
