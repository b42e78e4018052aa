// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connection/schema.h"

#include "backends/mysql/connection/row_table.h"
#include "backends/mysql/connection/sql_text.h"

namespace dlock::mysql {
namespace {

std::string table(const char* name, const std::string& columns) {
  return "CREATE TABLE IF NOT EXISTS " + std::string(name) + " (\n" + columns +
         ") ENGINE=InnoDB COMMENT='dlock tables " + std::to_string(kSchemaVersion) + "'";
}

}  // namespace

std::vector<Table> tables() {
  // Names are bytes: no character set, no collation, no two keys meet.
  return {
      {kLockTable,
       table(kLockTable,
             "  strategy VARBINARY(8) NOT NULL,\n"
             "  name VARBINARY(255) NOT NULL,\n"
             "  version BIGINT UNSIGNED NOT NULL,\n"
             "  fence BIGINT UNSIGNED NOT NULL,\n"
             "  mode VARBINARY(1) NOT NULL,\n"
             "  permits INT UNSIGNED NOT NULL,\n"
             "  holds INT UNSIGNED NOT NULL,\n"
             "  expires DATETIME(6) NULL,\n"
             "  holders MEDIUMBLOB NOT NULL,\n"
             "  PRIMARY KEY (strategy, name)\n"),
       "strategy varbinary, name varbinary"},
      {kRowTable, table(kRowTable, "  name VARBINARY(255) NOT NULL PRIMARY KEY\n"), "name varbinary"},
      {kUniqueTable, table(kUniqueTable, row_columns(own_row_table(Strategy::kUnique))), "name varbinary"},
      {kOccupyTable, table(kOccupyTable, row_columns(own_row_table(Strategy::kOccupy))), "name varbinary"},
      {kFenceTable,
       table(kFenceTable,
             "  name VARBINARY(255) NOT NULL PRIMARY KEY,\n"
             "  token BIGINT UNSIGNED NOT NULL\n"),
       "name varbinary"},
      {kStockTable,
       table(kStockTable,
             "  name VARBINARY(255) NOT NULL PRIMARY KEY,\n"
             "  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT UNIQUE,\n"
             "  maker VARBINARY(64) NOT NULL,\n"
             "  segments INT UNSIGNED NOT NULL,\n"
             "  created BIGINT NOT NULL,\n"
             "  added BIGINT NOT NULL DEFAULT 0\n"),
       "name varbinary"},
      // A second fence after the decisions: nothing is ever negative.
      {kSegmentTable,
       table(kSegmentTable,
             "  stock BIGINT UNSIGNED NOT NULL,\n"
             "  segment INT UNSIGNED NOT NULL,\n"
             "  quantity BIGINT NOT NULL CHECK (quantity >= 0),\n"
             "  reserved BIGINT NOT NULL DEFAULT 0 CHECK (reserved >= 0),\n"
             "  taken BIGINT NOT NULL DEFAULT 0,\n"
             "  refunded BIGINT NOT NULL DEFAULT 0,\n"
             "  version BIGINT UNSIGNED NOT NULL DEFAULT 0,\n"
             "  PRIMARY KEY (stock, segment)\n"),
       "stock bigint, segment int"},
      {kRequestTable,
       table(kRequestTable,
             "  stock BIGINT UNSIGNED NOT NULL,\n"
             "  id VARBINARY(255) NOT NULL,\n"
             "  record MEDIUMBLOB NOT NULL,\n"
             "  PRIMARY KEY (stock, id)\n"),
       "stock bigint, id varbinary"},
      {kReservationTable,
       table(kReservationTable,
             "  token BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,\n"
             "  stock BIGINT UNSIGNED NOT NULL,\n"
             "  id VARBINARY(255) NOT NULL,\n"
             "  expires DATETIME(6) NOT NULL,\n"
             "  UNIQUE KEY (stock, id),\n"
             "  KEY (stock, expires)\n"),
       "token bigint"},
  };
}

std::string kinds_query(const std::string& which, const std::string& beside) {
  return "SELECT e.TRANSACTIONS,t.ENGINE,t.TABLE_NAME,t.TABLE_COMMENT," + beside +
         " FROM information_schema.TABLES AS t LEFT JOIN "
         "information_schema.ENGINES AS e ON e.ENGINE=t.ENGINE WHERE t.TABLE_SCHEMA=DATABASE() AND t.TABLE_NAME " +
         which;
}

Result<void> judge_engine(const Row& kind) {
  if (text_of(kind, kTransactions) == "YES") return {};
  const std::string table = text_of(kind, kTableName);
  return Error{ErrorCode::kMisconfigured,
               "rows of " + table + " cannot be locked: its engine " + text_of(kind, kEngine) + " has no transactions",
               "ALTER TABLE " + table + " ENGINE=InnoDB"};
}

std::string keys_query() {
  return "SELECT TABLE_NAME,COLUMN_NAME,DATA_TYPE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA=DATABASE() AND "
         "TABLE_NAME " +
         std::string(kOurTables) + " AND COLUMN_KEY='PRI' ORDER BY ORDINAL_POSITION";
}

Result<void> judge_key(const Table& table, const Answer& keys) {
  std::string key;
  for (const Row& row : keys.rows) {
    if (text_of(row, 0) == table.name) key += (key.empty() ? "" : ", ") + text_of(row, 1) + " " + text_of(row, 2);
  }
  if (key == table.key) return {};
  return Error{ErrorCode::kMisconfigured,
               "the table " + table.name + " has " +
                   (key.empty() ? "no primary key" : "the primary key (" + key + ")") + " instead of (" + table.key +
                   "), so that two could hold one lock",
               "give it that key, by ALTER TABLE " + table.name};
}

std::string setup_script(const std::string& database, const RowTable& rows) {
  std::string text = "-- the tables of dlock (in " + database + ")\n";
  std::string rights;
  const auto add = [&](const std::string& create, const std::string& name) {
    text += create + ";\n";
    rights += "-- GRANT SELECT, INSERT, UPDATE, DELETE ON " + identifier(database) + "." + name + " TO 'app'@'%';\n";
  };
  for (const Table& one : tables()) add(one.create, one.name);
  if (rows.is_users()) {
    text += "-- the table that the URL names; if it exists already, dlock setup says what it lacks\n";
    add(create_row_table(rows), identifier(rows.table));
  }
  return text + "-- what an account needs, and nothing else (replace 'app'@'%'):\n" + rights;
}

}  // namespace dlock::mysql
