// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backends/mysql/connection/database.h"
#include "backends/mysql/connection/settings.h"
#include "lib/base/result.h"

namespace dlock::mysql {

/// The version of the tables that this dlock needs; the comment of each table has it ("dlock tables 1").
inline constexpr int kSchemaVersion = 1;

inline constexpr char kRowTable[] = "dlock_row";        ///< strategy=row: the rows that are locked
inline constexpr char kUniqueTable[] = "dlock_unique";  ///< strategy=unique
inline constexpr char kOccupyTable[] = "dlock_occupy";  ///< strategy=occupy

/// Rows of lib/rows/rows.h: leases, stocks, what is remembered of keys. And the records of the other strategies.
inline constexpr char kDataTable[] = "dlock_data";

/// A change that changes nothing, to see whether the server takes any. It waits for no row.
inline constexpr char kChangeNothing[] = "UPDATE dlock_data SET version=version WHERE FALSE";

struct Table {
  std::string name;
  std::string create;  ///< CREATE TABLE IF NOT EXISTS ...
  std::string key;     ///< the columns of its primary key, with their types
};

/// Every table, in the order in which they are made.
std::vector<Table> tables();

/// The query for engine and comment of tables. `which`: a condition on t.TABLE_NAME; `beside`: an expression whose
/// value is answered along with them. KindColumn: the columns of the answer.
std::string kinds_query(const std::string& which, const std::string& beside = "NULL");
enum KindColumn : std::uint8_t { kTransactions, kEngine, kTableName, kTableComment, kBeside };
/// Misconfigured if the engine in a row of that answer has no transactions: it locks no rows, and cannot roll back.
Result<void> judge_engine(const Row& kind);
/// The condition for kinds_query() that finds dlock's tables.
inline constexpr char kOurTables[] = "LIKE 'dlock\\_%'";

/// The query for the columns of the primary keys of dlock's tables: table, column, type.
std::string keys_query();
/// Misconfigured if that answer has another key for `table`: one name could have two rows, or two names one.
Result<void> judge_key(const Table& table, const Answer& keys);

/// Text of `dlock setup --print`: the statements, and the least privileges of an account.
std::string setup_script(const std::string& database, const RowTable& rows);

/// The text between the parentheses of CREATE TABLE. In a table of the user's, dlock's columns are invisible and
/// have a default: statements that do not name them go on as before.
std::string row_columns(const RowTable& table);

/// The statement that creates a table of the user's, if it is missing.
std::string create_row_table(const RowTable& table);

/// The query for the columns of a table of the user's, and whether `key` fits into it.
std::string row_columns_query(const RowTable& table, std::string_view key);

/// Misconfigured if by that answer the table is missing, or lacks what a lock needs, with the statement that adds it.
Result<void> judge_row_table(const RowTable& table, const Answer& columns, const std::string& server);

}  // namespace dlock::mysql
