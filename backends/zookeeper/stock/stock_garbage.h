// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/zookeeper/stock/stock_session.h"
#include "lib/lock/lock_admin.h"

namespace dlock::zookeeper {

/// How long a request is remembered after it was last written: longer than any client repeats or refunds it.
inline constexpr Duration kRequestKept = std::chrono::days(30);

/// Removes the node `path` and everything below it, children first, many in one round trip. Nodes that are created
/// in between may stay.
Result<void> remove_tree(StockSession& session, const std::string& path, const CallLimit& limit);

/// Removes the remains of stocks: data of stocks whose drop was interrupted, and requests older than kRequestKept.
/// With `dry_run` only says what it would remove.
Result<std::vector<Swept>> sweep_stocks(StockSession& session, bool dry_run, const CallLimit& limit);

/// How many requests all stocks remember; nothing if there are no stocks.
std::vector<Finding> diagnose_stocks(StockSession& session, const CallLimit& limit);

}  // namespace dlock::zookeeper
