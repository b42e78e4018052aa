// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connection/admin.h"

#include <algorithm>
#include <map>
#include <set>

#include "backends/mysql/connection/record.h"
#include "backends/mysql/connection/schema.h"
#include "backends/mysql/connection/sql_text.h"
#include "lib/lock/lock_errors.h"

namespace dlock::mysql {
namespace {

constexpr std::size_t kAtOnce = 256;  ///< rows in one statement

/// Misconfigured if one of them is of another version, or has no transactions or another key.
Result<std::set<std::string>> present_tables(Servers& servers, TimePoint until) {
  TRY_ASSIGN(const auto found, servers.run(kinds_query(kOurTables), until));
  std::set<std::string> present;
  const std::string ours = "dlock tables " + std::to_string(kSchemaVersion);
  for (const Row& row : found.rows) {
    const std::string comment = text_of(row, kTableComment);
    if (comment != ours) {
      return Error{ErrorCode::kMisconfigured,
                   "the table " + text_of(row, kTableName) + " on " + servers.server() + " is not '" + ours +
                       "' but '" + comment + "'",
                   "use the dlock that belongs to it, or drop the table while nothing is locked, and run dlock setup"};
    }
    TRY(judge_engine(row));
    present.insert(text_of(row, kTableName));
  }
  TRY_ASSIGN(const auto keys, servers.run(keys_query(), until));
  for (const Table& table : tables()) {
    if (!present.contains(table.name)) continue;
    TRY(judge_key(table, keys));
  }
  return present;
}

/// Whether the user's table was missing. One that is there is judged, and changed by its owner alone.
Result<bool> make_row_table(Servers& servers, const RowTable& table, TimePoint until) {
  const std::string query = row_columns_query(table, "");
  auto columns = servers.run(query, until);
  const bool missing = columns && columns->rows.empty();
  if (missing) {
    TRY(servers.run(create_row_table(table), until));
    columns = servers.run(query, until);
  }
  if (!columns) return columns.error();
  const auto fit = judge_row_table(table, *columns, servers.server());
  return fit ? Result<bool>(missing) : fit.error();
}

}  // namespace

Result<std::string> set_up(const Settings& settings, Servers& servers, bool print_only, TimePoint until) {
  if (print_only) return setup_script(settings.servers.front().database, settings.rows);
  TRY_ASSIGN(const auto present, present_tables(servers, until));
  std::string made;
  for (const Table& table : tables()) {
    if (present.contains(table.name)) continue;
    TRY(servers.run(table.create, until));
    made += (made.empty() ? "" : ", ") + table.name;
  }
  // A server may put another engine in the place of the one that was named.
  TRY(present_tables(servers, until));
  if (settings.rows.is_users()) {
    TRY_ASSIGN(const auto users, make_row_table(servers, settings.rows, until));
    if (users) made += (made.empty() ? "" : ", ") + settings.rows.table;
  }
  if (made.empty()) return "the tables of dlock exist already in " + settings.store + "\n";
  return "created in " + settings.store + ": " + made + "\n";
}

Result<std::vector<Swept>> MysqlAdmin::collect_garbage(bool dry_run) {
  auto swept = sweep(dry_run);
  if (!swept) return swept;
  const std::string table = kDataTable, idle = is_forgotten(settings_.strategy);
  const std::string all = " WHERE space='" + std::string(strategy_name(settings_.strategy)) + "'";
  TRY_ASSIGN(const auto found, run("SELECT name FROM " + table + idle));
  for (std::size_t begin = 0; begin < found.rows.size(); begin += kAtOnce) {
    std::map<std::string, LockName> gone;
    std::string list;
    for (std::size_t i = begin; i < std::min(found.rows.size(), begin + kAtOnce); ++i) {
      const auto name = LockName::parse_stored(text_of(found.rows[i], 0));
      if (!name) continue;
      gone.emplace(name->text(), *name);
      list += (list.empty() ? "" : ",") + literal(name->text());
    }
    if (!dry_run && !gone.empty()) {
      const std::string those = " AND name IN (" + list + ")";
      TRY(run("DELETE FROM " + table + idle + those));
      TRY_ASSIGN(const auto left, run("SELECT name FROM " + table + all + those));
      for (const Row& row : left.rows) gone.erase(text_of(row, 0));
    }
    for (auto& [text, name] : gone) swept->push_back({name, "the row of a lock that was not taken for a day"});
  }
  return swept;
}

std::vector<Finding> MysqlAdmin::diagnose() { return diagnose_servers(settings_, servers_.dial(), runtime_); }

Result<std::string> MysqlAdmin::set_up(bool print_only) {
  return mysql::set_up(settings_, servers_, print_only, soon());
}

}  // namespace dlock::mysql
