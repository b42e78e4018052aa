// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/stock/stock_group.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>

#include "backends/zookeeper/stock/stock_deduction.h"
#include "backends/zookeeper/stock/stock_requests.h"

namespace dlock::zookeeper {
namespace {

constexpr std::size_t kMostInGroup = 256;  ///< a transaction of 100 kB: a tenth of what a server takes

/// It says something about the one step; the others can be served.
bool is_of_the_step(const Error& error) {
  return error.code == ErrorCode::kConflict || error.code == ErrorCode::kLost || error.code == ErrorCode::kBusy;
}

}  // namespace

std::size_t group_size(std::span<const StockStep> steps) {
  std::set<std::string_view> ids;
  int reservations = 0;
  std::size_t count = 0;
  for (const StockStep& step : steps) {
    const bool reserves = step.kind == StockStep::Kind::kTake && step.owner;
    if (count == kMostInGroup || !ids.insert(step.id.text()).second || (reserves && reservations++ > 0)) break;
    ++count;
  }
  return count;
}

Result<Step> StockGroup::decide(StockCall& call) {
  answers_.clear();
  std::vector<LockName> ids;
  for (const StockStep& step : steps_) ids.push_back(step.id);
  if (auto loaded = call.load_group(ids); !loaded) return loaded.error();
  bool writes = false;
  for (const StockStep& step : steps_) {
    const auto decided = decide_one(call, step);
    if (!decided && !is_of_the_step(decided.error())) return decided.error();
    if (!decided) answer_ = decided.error();
    // What has come back meanwhile is written together with the steps before this one, which then is the next.
    if (decided && *decided == Step::kWriteThenRead) return answers_.empty() ? Step::kWriteThenRead : Step::kWrite;
    if (decided && *decided == Step::kReadAgain) return Step::kReadAgain;
    writes = writes || (decided && *decided == Step::kWrite);
    answers_.push_back(std::move(answer_));
  }
  return writes ? Step::kWrite : Step::kConclude;
}

Result<Step> StockGroup::decide_one(StockCall& call, const StockStep& step) {
  answer_ = StepAnswer(StockParts());
  switch (step.kind) {
    case StockStep::Kind::kTake:
      return deduct(call, step);
    case StockStep::Kind::kConfirm: {
      Confirmation confirmation{step.id, *step.owner};
      auto decided = confirmation.decide(call);
      if (confirmation.over) answer_ = reservation_over(stock_, step.id);
      return decided;
    }
    case StockStep::Kind::kCancel:
      return Cancellation{step.id, *step.owner}.decide(call);
    case StockStep::Kind::kRefund: {
      Refunding refunding{step.id, step.quantity};
      auto decided = refunding.decide(call);
      answer_ = StepAnswer(std::move(refunding.parts));
      return decided;
    }
    case StockStep::Kind::kAdd: {
      Restocking restocking{step.id, *step.quantity};
      auto decided = restocking.decide(call);
      answer_ = StepAnswer(std::move(restocking.parts));
      return decided;
    }
  }
  return Error{ErrorCode::kInternal, "a step of no kind"};
}

/// All begin with the same segment: the fewer are written, the fewer races are lost.
Result<Step> StockGroup::deduct(StockCall& call, const StockStep& step) {
  const StockRequest request{stock_, step.id, step.quantity.value_or(1)};
  const auto ttl = std::chrono::ceil<std::chrono::milliseconds>(step.ttl).count();
  Deduction deduction(request, step.owner ? &*step.owner : nullptr, ttl, steps_.front().start);
  auto decided = deduction.decide(call);
  answer_ = step_answer(deduction.answer());
  return decided;
}

std::vector<Result<StepAnswer>> StockGroup::answers(FencingToken token) {
  for (std::size_t i = 0; i < answers_.size(); ++i) {
    auto* taken = answers_[i] ? std::get_if<StockTaken>(&*answers_[i]) : nullptr;
    if (taken && steps_[i].owner && !taken->repeated) taken->token = token;
  }
  return std::move(answers_);
}

}  // namespace dlock::zookeeper
