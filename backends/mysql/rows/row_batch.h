// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/mysql/rows/transaction.h"
#include "lib/rows/rows.h"

namespace dlock::mysql {

/// Whether somebody is told with it.
bool tells(const Rows::Commit& commit);

/// Commits as the statements of one transaction, which ends with an error (is_refusal) if one of them is refused: what
/// changes a row leaves a mark in LAST_INSERT_ID() if the row is as it has to be, which the next statement wants to
/// see; what is new is inserted last.
class RowBatch {
 public:
  /// The named lock of a row, as an expression.
  using TurnOf = std::function<std::string(const std::string& key)>;

  /// `transaction` outlives it. `space`, `name`: literals. `turn_of`: who fills a row takes its turn, and leaves all
  /// turns when a row is told to be empty; null: no turns.
  RowBatch(Transaction& transaction, std::string space, std::string name, TurnOf turn_of)
      : transaction_(transaction), space_(std::move(space)), name_(std::move(name)), turn_of_(std::move(turn_of)) {}

  /// Adds one whose rows are not those of the commits before it, unless both add to them. False: it does not fit.
  bool add(const Rows::Commit& commit);
  /// Hands the statements to the transaction. Their number comes from the clock.
  void write(bool told);
  /// What is to be sent after COMMIT: the query for the number, if that is to be `told`.
  std::string after_commit(bool told) const;
  /// The server has refused a commit by this code.
  static bool is_refusal(int code);

 private:
  std::string of(const std::string& key) const;
  void change(const std::string& statement, const std::string& condition);
  void add_numbers(const std::string& key, const std::vector<std::int64_t>& by);
  void raise_number(const std::string& keys);
  void fill(const std::string& key, const std::string& text, bool told);
  void insert(const std::string& key, const std::string& text);
  std::string values_of(const std::string& text) const;

  Transaction& transaction_;
  const std::string space_, name_;
  const TurnOf turn_of_;
  std::set<std::string> keys_;  ///< of puts, removals and checks
  std::map<std::string, std::vector<std::int64_t>> adds_;
  std::vector<Rows::Change> others_;
  Rows::Number least_ = 0;  ///< a number that is larger than that of a row
  std::string number_;      ///< an expression
  std::string mark_;        ///< what LAST_INSERT_ID() is if all was well so far; empty: nothing was changed yet
  std::vector<std::pair<std::string, std::string>> rows_;  ///< to be inserted: id, and what follows it
};

}  // namespace dlock::mysql
