// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "backends/zookeeper/stock/stock_call.h"

namespace dlock::zookeeper {

/// How many of the first `steps` one transaction can serve. All must be of different requests, so that after a lost
/// answer the notes tell what became of each; and at most one may be a reservation, because its token is the
/// transaction's.
std::size_t group_size(std::span<const StockStep> steps);

/// Decides steps one after the other, each on the state that those before it leave, and carries them out by one
/// transaction. A step that is refused has no effect on the others.
class StockGroup {
 public:
  /// Both outlive it.
  StockGroup(const LockName& stock, std::span<const StockStep> steps) : stock_(stock), steps_(steps) {}

  /// The decision for StockCall::freshly().run().
  Result<Step> decide(StockCall& call);
  /// After StockCall::run(): the answers to the first steps, at least to one. `token`: of the transaction.
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
