// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/stock/stock_names.h"

#include <doctest/doctest.h>

#include <set>

#include "backends/redis/deployment/slots.h"

namespace dlock::redis::stock_names_test {
namespace {

constexpr StockSpace kOneSlot;
constexpr StockSpace kEight{StockCounters::kHash, 8};
constexpr StockSpace kSpaces[] = {kOneSlot, kEight, {StockCounters::kPlain, 1}, {StockCounters::kTair, 8}};

}  // namespace

TEST_CASE("stock names: all keys of a place are in one slot, no key belongs to two, and the name is found again") {
  std::set<std::string> keys;
  for (const char* text :
       {"phone", "{phone}", "a{b}c", "}", "x:70", "x:", "p:meta", "phone:request", "ä ö", "x:phone", "phone|0.1"}) {
    CAPTURE(text);
    const LockName name = *LockName::parse(text);
    for (const StockSpace& space : kSpaces) {
      for (int slot = 0; slot < space.slots; ++slot) {
        const StockNames names = space.names(name, slot);
        for (const std::string& key :
             {names.meta, names.quantity, names.quantity + ":3", names.reserved, names.open, names.until,
              names.request + "id", names.held, names.credits, names.refused, names.delivered + "id"}) {
          CHECK(key_slot(key) == key_slot(names.meta));
          CHECK(keys.insert(key).second);
        }
        CHECK(space.stock_of_meta(names.meta) == (slot == 0 ? std::optional<std::string>(text) : std::nullopt));
        CHECK_FALSE(space.stock_of_meta(names.request + "x:meta"));
        CHECK_FALSE(space.stock_of_meta(names.request + "}:meta"));
        CHECK_FALSE(space.stock_of_meta(names.quantity));
      }
    }
  }
}

TEST_CASE("stock names: a stock lies where people look for it") {
  CHECK(kOneSlot.names(*LockName::parse("phone"), 0).meta == "dlock:stock:{phone}:meta");
  CHECK(kOneSlot.names(*LockName::parse("phone"), 0).request == "dlock:stock:{phone}:request:");
  CHECK(kOneSlot.meta_pattern() == "dlock:stock:{*}:meta");
  CHECK(kEight.names(*LockName::parse("phone"), 0).meta.starts_with("dlock:stock:8:{phone|0."));
  CHECK(kEight.meta_pattern() == "dlock:stock:8:{*|0.*}:meta");
  CHECK(StockSpace{StockCounters::kPlain, 1}.names(*LockName::parse("phone"), 0).quantity ==
        "dlock:stock:decr:{phone}:quantity");
}

TEST_CASE("stock names: the places of a stock are spread evenly over the slots of a cluster") {
  for (const int slots : {2, 3, 8, 64}) {
    const StockSpace space{StockCounters::kHash, slots};
    for (int slot = 0; slot < slots; ++slot) {
      const int at = key_slot(space.names(*LockName::parse("phone"), slot).meta);
      CHECK(at * slots / kSlots == slot);
    }
  }
}

}  // namespace dlock::redis::stock_names_test
