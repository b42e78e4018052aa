// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/quantity.h"

#include <doctest/doctest.h>

namespace quantity_test {

using namespace dlock;

TEST_CASE("A quantity is a whole number that a double holds exactly") {
  CHECK(*parse_quantity("1") == 1);
  CHECK(*parse_quantity("007") == 7);
  CHECK(*parse_quantity("9007199254740992") == kMostItems);
  CHECK(*parse_quantity("0", 0) == 0);
  for (const char* bad : {"", "0", "-1", "+1", " 1", "1 ", "1.5", "1e3", "0x10", "9007199254740993",
                          "99999999999999999999", "one", "1\n"}) {
    CAPTURE(bad);
    const auto parsed = parse_quantity(bad);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().code == ErrorCode::kInvalid);
  }
}

TEST_CASE("Parts are written and read back") {
  const StockParts parts{{3, 2}, {0, 1}};
  CHECK(parts_text(parts) == "3:2 0:1");
  CHECK(parts_text(parts, ',') == "3:2,0:1");
  CHECK(*parse_parts("3:2 0:1") == parts);
  CHECK(parse_parts("")->empty());
  CHECK(sum_of(parts) == 3);
  for (const char* bad : {"3", "3:", ":2", "3:0", "-1:2", "3:2 ", "3:2  0:1", "3:-2", "1000000:1", "3:2,0:1", "a:b"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_parts(bad));
  }
}

}  // namespace quantity_test
