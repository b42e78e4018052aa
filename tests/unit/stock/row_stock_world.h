// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>

#include "lib/stock/row_stock.h"
#include "tests/support/fake_clock.h"
#include "tests/support/memory_rows.h"

namespace dlock::testing::row_stock_test {

using namespace std::chrono_literals;

inline const LockName kPhone = *LockName::parse("phone");

inline LockName name_of(const std::string& prefix, int number) {
  return *LockName::parse(prefix + std::to_string(number));
}

struct World {
  FakeClock clock;
  RowShelf shelf{clock};
  std::unique_ptr<Stock> a = client(), b = client();

  std::unique_ptr<Stock> client() { return row_stock(std::make_unique<MemoryRows>(shelf), clock); }
  CallLimit limit() { return {clock.now() + 10s}; }
  void create(Quantity quantity, int segments) {
    REQUIRE(a->create(kPhone, quantity, segments, Owner::random(), limit()));
  }
  StockState state() {
    shelf.between = {};
    auto state = client()->show(kPhone, limit());
    REQUIRE(state);
    CHECK(state->total() + state->reserved() + state->taken - state->refunded == state->created + state->added);
    return std::move(*state);
  }
};

}  // namespace dlock::testing::row_stock_test
