// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "backends/zookeeper/stock/stock_call.h"

namespace dlock::zookeeper {

/// How many of the first steps one transaction can serve: each is of another request, so that whoever has to look
/// again after a lost answer sees what became of each; and one of them at the most is a reservation, whose token is
/// the transaction's.
std::size_t group_size(std::span<const StockStep> steps);

/// Steps that are served together: decided one after the other, each by what those before it have changed, and carried
/// out by one transaction. One that is refused changes nothing for the others.
class StockGroup {
 public:
  /// They have to outlive it.
  StockGroup(const LockName& stock, std::span<const StockStep> steps) : stock_(stock), steps_(steps) {}

  /// For StockCall::run(), which begins fresh.
  Result<Step> decide(StockCall& call);
  /// Of the decision that was carried out: of the first steps, one at least. `token`: of its transaction.
  std::vector<Result<StepAnswer>> answers(FencingToken token);

 private:
  Result<Step> decide_one(StockCall& call, const StockStep& step);
  Result<Step> deduct(StockCall& call, const StockStep& step);

  const LockName& stock_;
  const std::span<const StockStep> steps_;
  std::vector<Result<StepAnswer>> answers_;
  Result<StepAnswer> answer_ = StepAnswer();  ///< of the step that was decided last
};

}  // namespace dlock::zookeeper
