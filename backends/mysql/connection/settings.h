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

/// A row in a table of the user, which is the lock (?row=TABLE:COLUMN=VALUE); `value` may contain %s for the key.
struct UserRow {
  std::string table;
  std::string column;
  std::string value;
};

/// The table of strategy=unique or occupy: dlock's own, or one of the user's (?table=) with dlock's columns beside.
struct RowTable {
  std::string table;
  std::string name = "name";            ///< the column that has the key
  std::string state, version;           ///< columns of occupy; empty for unique
  std::string free = "0", taken = "1";  ///< values of `state`
  std::string prefix;                   ///< of the names of dlock's columns in a table of the user's
  bool is_users() const { return !prefix.empty(); }
};

RowTable own_row_table(Strategy strategy);

struct Settings {
  std::vector<DatabaseSettings> servers;  ///< in the order of the URL
  Strategy strategy = Strategy::kLease;
  std::optional<UserRow> row;
  std::string store;  ///< redacted URL
  RowTable rows{};
};

/// Misconfigured for a URL that cannot be served: incomplete TLS parameters, a ?row= of another form, one
/// state for free and taken.
Result<Settings> settings_of(const BackendUrl& url, Duration connect_timeout);

}  // namespace dlock::mysql
