// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/base/clock.h"
#include "lib/keeper/insist.h"
#include "lib/rows/rows.h"
#include "lib/stock/stock_look.h"

namespace dlock {

/// How a step of a stock asks its rows: it looks, decides, commits, and after a lost race looks again, until there is
/// no time left. A commit whose answer was lost is taken for a lost race, too: the next look shows what became of it.
/// Single-threaded.
class StockCalls {
 public:
  StockCalls(std::unique_ptr<Rows> rows, Clock& clock) : rows_(std::move(rows)), clock_(clock) {}

  Rows& rows() const { return *rows_; }
  const std::string& store() const { return rows_->store(); }
  TimePoint now() const { return clock_.now(); }

  /// Before each round, `races` of which were lost in a row; 0: a new step. From the second one on it waits a moment.
  /// Unavailable when the time is over: not known, or undone.
  Result<void> race(const LockName& name, int races, const CallLimit& limit);
  /// An answer of this step was lost.
  bool is_unsure() const { return unknown_ && !unknown_->undone; }

  /// What is known without asking: the head of the stock that was asked for last.
  StockLook known(const LockName& name);
  Result<StockLook> look(const LockName& name, const std::vector<LockName>& ids, const Sight& sight,
                         const CallLimit& limit);
  /// 0: another one was faster.
  Result<Rows::Number> commit(const LockName& name, const Rows::Commit& one, const CallLimit& limit,
                              Rows::Tell tell = Rows::Tell::kMade);
  std::vector<Result<Rows::Number>> commit_each(const LockName& name, const std::vector<Rows::Commit>& commits,
                                                Rows::Tell tell, const CallLimit& limit);

  /// Waits until the row `key` is told to be empty, for a second at most; where nobody is told, for `pause`. False:
  /// limit.control wants an end.
  bool wait_for(const LockName& name, const std::string& key, Duration pause, const CallLimit& limit);

  /// The first of the locks from `segment` on whose turn comes within `wait`, where the store has queues for them.
  struct LockTurn {
    bool queues = false;
    std::optional<int> segment = {};
  };
  LockTurn turn_of_lock(const LockName& name, int segment, Duration wait, const CallLimit& limit);

  /// Whether that ended because it was told, or empty before.
  bool is_told() const { return told_; }

  /// Asks again while the store is unavailable: for what changes nothing, so it is undone if the last call was.
  template <typename Ask>
  std::invoke_result_t<Ask&> until_answered(Ask ask, const CallLimit& limit) {
    bool undone = false;
    const auto once = [&] {
      auto answer = ask();
      undone = !answer && answer.error().undone;
      return answer;
    };
    auto answer = insist(clock_, limit.until, kOutagePause, once, limit.control).answer;
    if (answer) return answer;
    // Why the last commit was not made says more than that there was no time to look again.
    if (unknown_ && answer.error().code == ErrorCode::kUnavailable && clock_.now() >= limit.until) return *unknown_;
    Error error = answer.error();
    error.undone = undone;
    return and_before(std::move(error));
  }

 private:
  static constexpr Duration kOutagePause = std::chrono::milliseconds(20);

  Error and_before(Error error) const;
  bool hear(TimePoint until, Control* control);
  Result<Rows::Number> settled(Result<Rows::Number> number, const CallLimit& limit);
  std::optional<StockHead>& head_of(const LockName& name);

  const std::unique_ptr<Rows> rows_;
  Clock& clock_;
  std::optional<std::pair<LockName, std::optional<StockHead>>> head_;
  bool told_ = false;
  std::optional<Error> unknown_;  ///< why the last commit of this step has no answer
};

}  // namespace dlock
