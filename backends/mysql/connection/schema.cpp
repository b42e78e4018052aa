// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connection/schema.h"

#include <algorithm>
#include <vector>

#include "backends/mysql/connection/sql_text.h"

namespace dlock::mysql {
namespace {

struct Column {
  std::string name;
  std::string type;
  bool is_number = false;  ///< of the user's, which must be one
};

std::vector<Column> columns_of(const RowTable& table) {
  const bool users = table.is_users();
  // A name in dlock's own table is bytes: no character set, no collation, no two keys meet.
  std::vector<Column> columns{
      {table.name, std::string("VARBINARY(255) NOT NULL ") + (users ? "UNIQUE" : "PRIMARY KEY")}};
  const auto ours = [&](const char* name, const std::string& type) {
    columns.push_back({table.prefix + name, type + (users ? " INVISIBLE" : "")});
  };
  if (!table.state.empty()) {
    columns.push_back({table.state, "TINYINT NOT NULL DEFAULT " + table.free, true});
    columns.push_back({table.version, "BIGINT UNSIGNED NOT NULL DEFAULT 0", true});
    if (users) ours("held", "BIGINT UNSIGNED NULL");
  }
  ours("owner", "VARBINARY(64) NULL");
  ours("token", "BIGINT UNSIGNED NOT NULL DEFAULT 0");
  ours("since", "DATETIME(6) NULL");
  ours("expires", "DATETIME(6) NULL");
  ours("info", "VARBINARY(1024) NULL");
  ours("entries", "VARBINARY(4096) NULL");
  return columns;
}

enum RowColumn : std::uint8_t { kName, kType, kRoom, kWithoutDefault, kUnique };

/// A gap of a table, and the change that fills it.
struct Lacks {
  std::string what;
  std::string change;
  void add(const std::string& one, const std::string& by) {
    what += (what.empty() ? "" : ", ") + one;
    change += (change.empty() ? "" : ", ") + by;
  }
};

std::string table(const char* name, const std::string& columns) {
  return "CREATE TABLE IF NOT EXISTS " + std::string(name) + " (\n" + columns +
         ") ENGINE=InnoDB COMMENT='dlock tables " + std::to_string(kSchemaVersion) + "'";
}

}  // namespace

std::vector<Table> tables() {
  // Names are bytes: no character set, no collation, no two keys meet.
  return {
      {kRowTable, table(kRowTable, "  name VARBINARY(255) NOT NULL PRIMARY KEY\n"), "name varbinary"},
      {kUniqueTable, table(kUniqueTable, row_columns(own_row_table(Strategy::kUnique))), "name varbinary"},
      {kOccupyTable, table(kOccupyTable, row_columns(own_row_table(Strategy::kOccupy))), "name varbinary"},
      // A text, or the numbers that it is; that none becomes negative is a second fence after the commits' own.
      {kDataTable,
       table(kDataTable,
             "  space VARBINARY(16) NOT NULL,\n"
             "  name VARBINARY(255) NOT NULL,\n"
             "  id VARBINARY(300) NOT NULL,\n"
             "  version BIGINT UNSIGNED NOT NULL,\n"
             "  text MEDIUMBLOB NULL,\n"
             "  a BIGINT NULL CHECK (a >= 0),\n"
             "  b BIGINT NULL CHECK (b >= 0),\n"
             "  c BIGINT NULL CHECK (c >= 0),\n"
             "  d BIGINT NULL CHECK (d >= 0),\n"
             "  PRIMARY KEY (space, name, id)\n"),
       "space varbinary, name varbinary, id varbinary"},
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

std::string row_columns(const RowTable& table) {
  std::string text;
  for (const Column& column : columns_of(table)) {
    text += (text.empty() ? "  " : ",\n  ") + identifier(column.name) + " " + column.type;
  }
  return text + "\n";
}

std::string create_row_table(const RowTable& table) {
  return "CREATE TABLE IF NOT EXISTS " + identifier(table.table) + " (\n" + row_columns(table) + ") ENGINE=InnoDB";
}

std::string row_columns_query(const RowTable& table, std::string_view key) {
  const std::string name = "_utf8mb4 " + literal(key);
  const std::string index =
      "FROM information_schema.STATISTICS WHERE TABLE_SCHEMA=c.TABLE_SCHEMA AND TABLE_NAME=c.TABLE_NAME AND ";
  return "SELECT c.COLUMN_NAME,c.DATA_TYPE,"
         "c.CHARACTER_MAXIMUM_LENGTH>=IF(c.CHARACTER_SET_NAME IS NULL,LENGTH(" +
         name + "),CHAR_LENGTH(" + name +
         ")),"
         "c.IS_NULLABLE='NO' AND c.COLUMN_DEFAULT IS NULL AND c.EXTRA NOT LIKE '%auto_increment%',"
         "EXISTS(SELECT 1 " +
         index +
         "NON_UNIQUE=0 AND COLUMN_NAME=c.COLUMN_NAME AND SEQ_IN_INDEX=1 AND SUB_PART IS NULL "
         "AND INDEX_NAME NOT IN (SELECT INDEX_NAME " +
         index +
         "SEQ_IN_INDEX=2)) "
         "FROM information_schema.COLUMNS AS c WHERE c.TABLE_SCHEMA=DATABASE() AND c.TABLE_NAME=_utf8mb4 " +
         literal(table.table);
}

Result<void> judge_row_table(const RowTable& table, const Answer& columns, const std::string& server) {
  if (columns.rows.empty()) {
    return Error{ErrorCode::kMisconfigured, server + " has no table " + table.table + " that this user can see",
                 "create it with: dlock setup (the SQL: dlock setup --print), or check table= in the URL"};
  }
  Lacks lacks;
  std::vector<Row> others = columns.rows;
  for (const Column& column : columns_of(table)) {
    const std::string name = identifier(column.name);
    const auto found =
        std::find_if(others.begin(), others.end(), [&](const Row& row) { return text_of(row, kName) == column.name; });
    if (found == others.end()) {
      lacks.add("the column " + column.name, "ADD COLUMN " + name + " " + column.type);
      continue;
    }
    const Row row = *found;
    others.erase(found);
    if (column.is_number && !text_of(row, kType).ends_with("int")) {
      lacks.add("whole numbers in " + column.name, "MODIFY COLUMN " + name + " " + column.type);
    }
    if (column.name != table.name) continue;
    if (text_of(row, kRoom) != "1") {
      lacks.add("room for this key in " + column.name, "MODIFY COLUMN " + name + " VARCHAR(255) NOT NULL");
    }
    if (text_of(row, kUnique) != "1") lacks.add("a unique index on " + column.name, "ADD UNIQUE KEY (" + name + ")");
  }
  for (const Row& row : others) {
    if (text_of(row, kWithoutDefault) != "1") continue;
    lacks.add("a default in " + text_of(row, kName), "ALTER COLUMN " + identifier(text_of(row, kName)) +
                                                         " SET DEFAULT " +
                                                         (text_of(row, kType).ends_with("int") ? "0" : "''"));
  }
  if (lacks.what.empty()) return {};
  return Error{ErrorCode::kMisconfigured, "the table " + table.table + " on " + server + " lacks " + lacks.what,
               "ALTER TABLE " + identifier(table.table) + " " + lacks.change};
}

}  // namespace dlock::mysql
