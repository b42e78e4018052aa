// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "lib/base/log.h"
#include "lib/stock/stock_hold.h"
#include "tests/support/memory_stock.h"
#include "tests/support/scripted_control.h"

namespace dlock::testing {

/// A stock "phone" in memory, and who takes from it under the id "order".
struct StockHoldWorld {
  explicit StockHoldWorld(std::vector<Quantity> have) : shelf(clock, std::move(have)) {}

  StockHold hold(Quantity quantity) {
    LockSpec spec = wish;
    spec.stock = StockClaim{*LockName::parse("order"), quantity};
    return StockHold(std::make_unique<MemoryStock>(shelf), spec, {clock, log});
  }

  Quantity there() const {
    Quantity sum = 0;
    for (const Quantity one : shelf.have) sum += one;
    return sum;
  }
  Quantity aside() const {
    Quantity sum = 0;
    for (const Quantity one : shelf.aside) sum += one;
    return sum;
  }
  TimePoint soon() const { return clock.now() + std::chrono::seconds(5); }

  FakeClock clock;
  Log log{Log::Style{.quiet = true}};
  MemoryShelf shelf;
  ScriptedControl control{clock};
  LockSpec wish{.name = *LockName::parse("phone"), .owner = Owner::random(), .wait = {}, .reason = "", .ancestor = {}};
};

inline Granted granted(const std::optional<std::variant<Granted, Refused>>& answer) {
  REQUIRE(answer);
  REQUIRE(std::holds_alternative<Granted>(*answer));
  return std::get<Granted>(*answer);
}

inline Error refused(const std::optional<std::variant<Granted, Refused>>& answer) {
  REQUIRE(answer);
  REQUIRE(std::holds_alternative<Refused>(*answer));
  return std::get<Refused>(*answer).error;
}

}  // namespace dlock::testing
