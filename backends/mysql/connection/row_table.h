// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "backends/mysql/connection/database.h"
#include "backends/mysql/connection/settings.h"
#include "lib/base/result.h"

namespace dlock::mysql {

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
