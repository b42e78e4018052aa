// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/zookeeper/rows/row_session.h"
#include "lib/lock/lock_admin.h"
#include "lib/rows/rows.h"

namespace dlock::zookeeper {

/// The nodes of a space's groups below the URL's path; a group that was cleared and made again gets another LIFE, so
/// that no version of an old node can be taken for one of a new node.
///
///   %SPACE/GROUP             "LIFE"
///   %SPACE-data/LIFE         the group's name
///                   /live    as long as LIFE is its group's: every commit checks it
///                   /one/ROW, /one/DIRECTORY/ROW  a row's text
///                   /HH/ROW  the same of rows that are many; HH: two hex digits of a hash, so that no directory
///                            becomes too long
std::string group_path(const std::string& root, std::string_view space, const LockName& group);
std::string lives_path(const std::string& root, std::string_view space);
std::string row_path(const std::string& life, const RowSpace& space, std::string_view key);
/// Of the node that is there for a moment when `key` is told.
std::string told_path(const std::string& life, std::string_view key);
/// The directories in which list() looks for rows that begin with `prefix`, and the row of a node there.
std::vector<std::string> row_directories(const std::string& life, const RowSpace& space, const std::string& prefix);
std::optional<std::string> row_of_part(const std::string& prefix, const std::string& part);

/// Removes the node `path` and everything below it, children first, many in one round trip. Nodes that are created
/// in between may stay.
Result<void> remove_tree(RowSession& session, const std::string& path, const CallLimit& limit);

/// Removes the remains of a space: what cleared groups have left, and rows that are many and older than it keeps them.
/// With `dry_run` only says what it would remove.
Result<std::vector<Swept>> sweep_rows(RowSession& session, const RowSpace& space, bool dry_run, const CallLimit& limit);

/// How many rows that are many a space has; nothing if it has no group.
std::vector<Finding> diagnose_rows(RowSession& session, const RowSpace& space, const CallLimit& limit);

}  // namespace dlock::zookeeper
