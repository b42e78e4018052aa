// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "backends/zookeeper/session/request.h"
#include "lib/rows/rows.h"

namespace dlock::zookeeper {

/// A row in one transaction: as it was read, and as it is to be; pure.
struct RowDraft {
  bool was_there = false;
  NodeStat stat = {};  ///< as it was read
  Rows::Number number = 0;
  bool exists = false;
  std::string text = {};
  bool changed = false;
  bool checked = false;
};
using RowDrafts = std::map<std::string, RowDraft>;

/// Whether a change is about a row.
bool is_of_row(const Rows::Change& change);

/// Carries out `commit` on what those before it have left. False: it is refused, and nothing has changed.
bool apply(RowDrafts& drafts, const Rows::Commit& commit);

/// The changes of nodes that this takes, at the versions that were read.
std::vector<Change> changes_of(const RowDrafts& drafts, const std::function<std::string(const std::string&)>& path_of);

}  // namespace dlock::zookeeper
