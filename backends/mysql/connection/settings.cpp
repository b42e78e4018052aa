// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connection/settings.h"

#include <algorithm>

#include "backends/mysql/connection/schema.h"
#include "lib/net/database_url.h"

namespace dlock::mysql {
namespace {

Strategy strategy_of(const BackendUrl& url) {
  const std::string name = url.param("strategy");
  for (const Strategy one : {Strategy::kSession, Strategy::kRow, Strategy::kUnique, Strategy::kOccupy}) {
    if (name == strategy_name(one)) return one;
  }
  return Strategy::kLease;
}

bool is_name(std::string_view text) {
  const auto fits = [](unsigned char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
    return letter || (c >= '0' && c <= '9') || c == '_' || c == '$';
  };
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), fits);
}

/// TABLE:COLUMN=VALUE
Result<UserRow> user_row(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::size_t equals = text.find('=', colon == std::string::npos ? 0 : colon);
  UserRow row;
  if (colon != std::string::npos && equals != std::string::npos) {
    row = {text.substr(0, colon), text.substr(colon + 1, equals - colon - 1), text.substr(equals + 1)};
  }
  if (!is_name(row.table) || !is_name(row.column) || row.value.empty()) {
    return Error{ErrorCode::kMisconfigured, "row=" + text + " names no row",
                 "it is TABLE:COLUMN=VALUE, for example row=orders:id=42"};
  }
  return row;
}

/// The articles' table: 1 is free, 2 is taken.
Result<RowTable> row_table(const BackendUrl& url, Strategy strategy) {
  RowTable table = own_row_table(strategy);
  if (!url.param("table").empty()) table.free = "1", table.taken = "2", table.prefix = "dlock_";
  for (const auto& [param, is_named] :
       {std::pair("table", &table.table), std::pair("column", &table.name), std::pair("state", &table.state),
        std::pair("version", &table.version), std::pair("free", &table.free), std::pair("taken", &table.taken)}) {
    if (const std::string given = url.param(param); !given.empty()) *is_named = given;
  }
  if (table.free != table.taken) return table;
  return Error{ErrorCode::kMisconfigured, "free and taken are the same state, " + table.free,
               "free=1&taken=2, for example"};
}

}  // namespace

RowTable own_row_table(Strategy strategy) {
  RowTable table;
  table.table = strategy == Strategy::kOccupy ? kOccupyTable : kUniqueTable;
  if (strategy == Strategy::kOccupy) table.state = "state", table.version = "version";
  return table;
}

const char* strategy_name(Strategy strategy) {
  constexpr const char* kNames[] = {"lease", "session", "row", "unique", "occupy"};
  return kNames[static_cast<std::size_t>(strategy)];
}

Result<Settings> settings_of(const BackendUrl& url, Duration connect_timeout) {
  if (!url.param("server-name").empty()) {
    return Error{ErrorCode::kUnsupported, "the MySQL client library checks a certificate for the host of the URL only",
                 "leave server-name out, and write the name that the certificate has into the URL"};
  }
  TRY_ASSIGN(auto database, database_url(url));
  Settings settings{{}, strategy_of(url), {}, std::move(database.store)};
  TRY_ASSIGN(auto rows, row_table(url, settings.strategy));
  settings.rows = std::move(rows);
  if (const std::string row = url.param("row"); !row.empty()) {
    TRY_ASSIGN(auto parsed, user_row(row));
    settings.row = std::move(parsed);
  }
  DatabaseSettings server{.endpoint = {},
                          .user = std::move(database.user),
                          .password = std::move(database.password),
                          .password_file = std::move(database.password_file),
                          .database = std::move(database.database),
                          .tls = std::move(database.tls),
                          .connect_timeout = connect_timeout};
  server.waits_for_rows = settings.strategy != Strategy::kUnique && settings.strategy != Strategy::kOccupy;
  for (Endpoint& endpoint : database.servers) {
    server.endpoint = std::move(endpoint);
    settings.servers.push_back(server);
  }
  return settings;
}

}  // namespace dlock::mysql
