// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/stock/stock_names.h"

#include <doctest/doctest.h>

#include <set>

#include "backends/redis/deployment/names.h"

namespace dlock::redis::stock_names_test {
namespace {

constexpr StockSpace kHash;
constexpr StockSpace kPlain{StockCounters::kPlain};
constexpr StockSpace kTair{StockCounters::kTair};
const LockName kPhone = *LockName::parse("phone");

}  // namespace

TEST_CASE("stock names: all keys are in one slot, no key belongs to two, and the name is found again") {
  std::set<std::string> keys;
  for (const char* text :
       {"phone", "{phone}", "a{b}c", "}", "x:70", "x:", "p:meta", "phone:request", "ä ö", "x:phone", "phone|0.1"}) {
    CAPTURE(text);
    const LockName name = *LockName::parse(text);
    for (const StockSpace& space : {kHash, kPlain, kTair}) {
      const StockNames names = space.names(name);
      for (const std::string& key : {names.meta, names.quantity, names.quantity + ":3", names.reserved, names.open,
                                     names.until, names.request + "id"}) {
        CHECK(key_slot(key) == key_slot(names.meta));
        CHECK(keys.insert(key).second);
      }
      CHECK(space.stock_of_meta(names.meta) == std::optional<std::string>(text));
      CHECK_FALSE(space.stock_of_meta(names.request + "x:meta"));
      CHECK_FALSE(space.stock_of_meta(names.request + "}:meta"));
      CHECK_FALSE(space.stock_of_meta(names.quantity));
    }
  }
}

TEST_CASE("stock names: a stock lies where people look for it") {
  CHECK(kHash.names(kPhone).meta == "dlock:stock:{phone}:meta");
  CHECK(kHash.names(kPhone).request == "dlock:stock:{phone}:request:");
  CHECK(kHash.meta_pattern() == "dlock:stock:{*}:meta");
  CHECK(kPlain.names(kPhone).quantity == "dlock:stock:decr:{phone}:quantity");
}

TEST_CASE(
    "stock names: a stock that an older dlock spread over slots is recognised, and no other one is taken for it") {
  CHECK(kHash.spread_pattern(kPhone) == "dlock:stock:[0-9]*:{phone|0.*}:meta");
  CHECK(kTair.spread_pattern(*LockName::parse("a*b")) == "dlock:stock:tair:[0-9]*:{a\\*b|0.*}:meta");
  CHECK(kHash.stock_of_spread_meta("dlock:stock:8:{phone|0.17}:meta") == "phone");
  CHECK(kTair.stock_of_spread_meta("dlock:stock:tair:8:{phone|0.17}:meta") == "phone");
  for (const char* other : {"dlock:stock:{phone}:meta", "dlock:stock:8:{phone|1.3}:meta", "dlock:stock:8:{phone}:meta",
                            "dlock:stock:8:{phone|0.17}:open"}) {
    CHECK_FALSE(kHash.stock_of_spread_meta(other));
  }
}

}  // namespace dlock::redis::stock_names_test
