// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/stock_names.h"

#include <doctest/doctest.h>

#include <set>

#include "backends/redis/slots.h"

namespace dlock::redis {

TEST_CASE("stock names: all keys of a stock are in one slot, no key belongs to two, and the name is found again") {
  std::set<std::string> keys;
  for (const char* text :
       {"phone", "{phone}", "a{b}c", "}", "x:70", "x:", "p:meta", "phone:request", "ä ö", "x:phone"}) {
    CAPTURE(text);
    const LockName name = *LockName::parse(text);
    const StockNames names = stock_names(name);
    for (const std::string& key :
         {names.meta, names.quantity, names.reserved, names.open, names.until, names.request + "id"}) {
      CHECK(key_slot(key) == key_slot(names.meta));
      CHECK(keys.insert(key).second);
    }
    CHECK(stock_of_meta(names.meta) == std::string(text));
    CHECK_FALSE(stock_of_meta(names.request + "x:meta"));
    CHECK_FALSE(stock_of_meta(names.request + "}:meta"));
    CHECK_FALSE(stock_of_meta(names.quantity));
  }
}

TEST_CASE("stock names: a stock lies where people look for it") {
  CHECK(stock_names(*LockName::parse("phone")).meta == "dlock:stock:{phone}:meta");
  CHECK(stock_names(*LockName::parse("phone")).request == "dlock:stock:{phone}:request:");
}

}  // namespace dlock::redis
