// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/mysql/connection/database.h"
#include "lib/base/result.h"
#include "lib/config/backend_url.h"

namespace dlock::mysql {

/// How locks lie in the database (?strategy=).
enum class Strategy { kLease, kSession, kRow, kUnique, kOccupy };

const char* strategy_name(Strategy strategy);

/// How a stock is deducted from (?stock=): one guarded UPDATE; a row that is locked first, skipping locked ones; a row
/// that must still have the version that was read.
enum class StockWay { kGuarded, kPessimistic, kOptimistic };

/// A row of the user's own, of whom the lock is (?row=TABLE:COLUMN=VALUE); `value` may contain %s for the key.
struct UserRow {
  std::string table;
  std::string column;
  std::string value;
};

struct Settings {
  std::vector<DatabaseSettings> servers;  ///< in the order of the URL
  Strategy strategy = Strategy::kLease;
  StockWay stock = StockWay::kGuarded;
  std::optional<UserRow> row;
  std::string store;  ///< redacted URL
};

/// Misconfigured for a URL that cannot be served: TLS by halves, a row that is none.
Result<Settings> settings_of(const BackendUrl& url, Duration connect_timeout);

}  // namespace dlock::mysql
