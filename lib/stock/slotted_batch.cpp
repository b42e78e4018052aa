// SPDX-License-Identifier: Apache-2.0
// Many requests at once of a stock in several slots; one by one: slotted_requests.cpp.
#include <algorithm>
#include <set>
#include <string_view>

#include "lib/stock/slotted_stock.h"

namespace dlock {
namespace {

bool is_plain_take(const StockStep& step) { return step.kind == StockStep::Kind::kTake && !step.owner; }

/// How many of `steps` are takes of different requests: those can be answered in any order.
std::size_t takes_in_front(std::span<const StockStep> steps) {
  std::set<std::string_view> ids;
  std::size_t count = 0;
  while (count < steps.size() && is_plain_take(steps[count]) && ids.insert(steps[count].id.text()).second) ++count;
  return count;
}

bool is_unknown(const Result<StepAnswer>& answer) { return !answer && answer.error().code == ErrorCode::kUnavailable; }

/// The slot alone cannot say: it is short, or not there (yet).
bool is_for_all_slots(const Result<StepAnswer>& answer) {
  return answer ? std::holds_alternative<StockShort>(*answer) : answer.error().code == ErrorCode::kMisconfigured;
}

}  // namespace

std::vector<Result<StepAnswer>> SlottedStock::serve(const LockName& stock, std::span<const StockStep> steps,
                                                    const CallLimit& limit) {
  if (slots_->count() == 1) return slots_->serve({stock, 0}, steps, limit);
  std::vector<Result<StepAnswer>> answers;
  while (answers.size() < steps.size()) {
    const std::span<const StockStep> rest = steps.subspan(answers.size());
    const std::size_t before = answers.size();
    const std::size_t takes = takes_in_front(rest);
    if (takes > 1) serve_takes(stock, rest.first(takes), answers, limit);
    else answers.push_back(serve_one(stock, rest.front(), limit));
    const auto unknown = std::find_if(answers.begin() + static_cast<std::ptrdiff_t>(before), answers.end(), is_unknown);
    if (unknown == answers.end()) continue;
    const Error error = unknown->error();
    answers.resize(steps.size(), error);  // those were not begun
  }
  return answers;
}

/// Appends an answer for each.
void SlottedStock::serve_takes(const LockName& stock, std::span<const StockStep> takes,
                               std::vector<Result<StepAnswer>>& answers, const CallLimit& limit) {
  const std::size_t first = answers.size();
  const Error unasked{ErrorCode::kUnavailable, "not asked yet"};
  answers.resize(first + takes.size(), unasked);
  for (int slot = 0; slot < slots_->count(); ++slot) {
    std::vector<StockStep> here;
    std::vector<std::size_t> at;
    for (std::size_t i = 0; i < takes.size(); ++i) {
      if (home_of(takes[i].id) != slot) continue;
      here.push_back(takes[i]);
      at.push_back(first + i);
    }
    if (here.empty()) continue;
    auto served = slots_->serve({stock, slot}, here, limit);
    for (std::size_t i = 0; i < at.size(); ++i) answers[at[i]] = std::move(served[i]);
  }
  for (std::size_t i = 0; i < takes.size(); ++i) {
    Result<StepAnswer>& answer = answers[first + i];
    if (is_for_all_slots(answer)) answer = serve_one(stock, takes[i], limit);
  }
}

}  // namespace dlock
