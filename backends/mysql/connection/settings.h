// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/mysql/connection/database.h"
#include "lib/base/result.h"
#include "lib/config/backend_url.h"

namespace dlock::mysql {

/// How locks are kept in the database (?strategy=).
enum class Strategy { kLease, kSession, kRow, kUnique, kOccupy };

const char* strategy_name(Strategy strategy);

/// How items are deducted from a stock (?stock=): by one UPDATE with a condition; from a row that is locked first,
/// skipping locked ones; from a row that must still have the version that was read.
enum class StockWay { kGuarded, kPessimistic, kOptimistic };

/// A row in a table of the user, which is the lock (?row=TABLE:COLUMN=VALUE); `value` may contain %s for the key.
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

/// Misconfigured for a URL that cannot be served: incomplete TLS parameters, a ?row= of another form.
Result<Settings> settings_of(const BackendUrl& url, Duration connect_timeout);

}  // namespace dlock::mysql
