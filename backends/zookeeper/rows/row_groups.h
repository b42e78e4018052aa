// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/zookeeper/rows/row_session.h"
#include "lib/rows/rows.h"

namespace dlock::zookeeper {

/// The groups of a space, and where the one that was found last has its rows (row_nodes.h). Single-threaded.
class RowGroups {
 public:
  /// `session` outlives it.
  RowGroups(RowSession& session, const RowSpace& space) : session_(session), space_(space) {}

  /// False: there is none of that name. Asks only for another one than the last.
  Result<bool> find(const LockName& name, const CallLimit& limit);
  /// Makes one, unless somebody else does at the same time.
  Result<void> make(const LockName& name, const CallLimit& limit);
  Result<std::vector<LockName>> all(const CallLimit& limit);

  bool is_known() const { return group_.has_value(); }
  /// It may be gone, or another one by now.
  void forget() { group_.reset(); }

  // REQUIRES: is_known().
  const std::string& life() const { return group_->life; }
  /// What is added to the number of a transaction: numbers of a group count from the time at which it was made.
  std::int64_t ahead() const { return group_->ahead; }
  std::string path() const;
  std::string live() const { return group_->life + "/live"; }
  std::string path_of(std::string_view key) const;
  Rows::Number number_of(std::int64_t zxid) const { return static_cast<Rows::Number>(group_->ahead + zxid); }
  Rows::Row row_of(const Answer& answer) const;

  const RowSpace& space() const { return space_; }

 private:
  struct Group {
    LockName name;
    std::string life;
    std::int64_t ahead = 0;
  };

  RowSession& session_;
  const RowSpace space_;
  std::optional<Group> group_;
};

}  // namespace dlock::zookeeper
