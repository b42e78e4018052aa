// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/stock/stock.h"

namespace dlock::testing {

/// A kind of store that keeps stocks. A new one is a row of its backend's conformance.txt (store_table.h), and is then
/// held to every sentence of lib/stock/stock.h.
struct StockFixture {
  std::string name;
  std::string url;
  /// `start` says with which segment a request begins; else its id does, too (several slots).
};

/// Those that can run here; the servers are those of fixtures().
const std::vector<StockFixture>& stock_fixtures();

/// Two independent clients of one store, and a name of a stock that nobody else uses.
struct StockWorld {
  const StockFixture& fixture;
  Stock& a;
  Stock& b;
  LockName name;
  CallLimit limit() const;
  StockRequest request(const std::string& id, Quantity quantity) const;
  void create(Quantity quantity, int segments);
  StockState state();
  std::vector<Quantity> quantities();
  StockTaken take(const std::string& id, Quantity quantity, int start = 0);
  void take_from(int segment, const std::string& id, Quantity quantity);
};

template <typename T>
ErrorCode code_of(const Result<T>& result) {
  return result ? ErrorCode::kInternal : result.error().code;
}
LockName id(const std::string& text);
StockTaken taken(const Result<StockAnswer>& answer);
StockShort too_short(const Result<StockAnswer>& answer);
Quantity reserved_in(const StockState& state, int segment);

/// Runs `test` for each fixture, with two independent clients and a name of its own. The stock is dropped afterwards,
/// and its books must balance.
void on_every_stock(const std::string& name, const std::function<void(StockWorld&)>& test);

}  // namespace dlock::testing
