// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "lib/keeper/call_limit.h"
#include "lib/stock/stock.h"
#include "lib/stock/stock_calls.h"

namespace dlock {

// What those ask of a stock who keep it, and do not buy: as the calls of Stock.
Result<void> create_stock(StockCalls& calls, const LockName& name, Quantity quantity, int segments, const Owner& maker,
                          const CallLimit& limit);
Result<StockState> show_stock(StockCalls& calls, const LockName& name, const CallLimit& limit);
Result<std::vector<KnownRequest>> known_requests(StockCalls& calls, const LockName& name, std::size_t most,
                                                 const CallLimit& limit);
/// Over so many segments; 0: over as many as there are. One commit says how many are used, and then items are moved:
/// all at once, or fewer while others are faster.
Result<void> level_stock(StockCalls& calls, const LockName& name, int segments, const CallLimit& limit);
/// Whatever its rows say: a stock that makes no sense can be dropped.
/// `unanswered`: the maker of the stock whose drop has no answer yet; what another has made since then is left alone.
Result<void> drop_stock(StockCalls& calls, const LockName& name, std::optional<std::string>& unanswered,
                        const CallLimit& limit);

/// Gives back the reservations whose time is over; says how many they were.
Result<int> sweep_stock(StockCalls& calls, const LockName& name, const CallLimit& limit);

}  // namespace dlock
