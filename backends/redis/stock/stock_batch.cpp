// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/stock/stock_batch.h"

#include <algorithm>
#include <unordered_set>

#include "backends/redis/stock/scripts.h"
#include "backends/redis/stock/stock_scripts.h"

namespace dlock::redis {
namespace {

using Kind = StockStep::Kind;

/// Others wait for less than a millisecond during it.
constexpr std::size_t kMostInOneScript = 128;
constexpr std::string_view kTaken = "taken ";
constexpr std::string_view kBroken = "broken ";
/// Those that every script has.
constexpr std::size_t kKeys = 6;

/// How many of `steps` go in one script: takes for good, of different requests. At least one.
std::size_t count_in_one_script(std::span<const StockStep> steps) {
  std::unordered_set<std::string_view> ids;
  std::size_t count = 0;
  while (count < std::min(steps.size(), kMostInOneScript) && steps[count].kind == Kind::kTake &&
         ids.insert(steps[count].id.text()).second) {
    ++count;
  }
  return std::max<std::size_t>(count, 1);
}

/// All as many, each from one segment further than the one before: the words of the first say it of all.
bool are_in_a_row(std::span<const StockStep> takes) {
  const StockStep& first = takes.front();
  int start = first.start;
  return std::all_of(takes.begin(), takes.end(), [&](const StockStep& take) {
    return take.quantity.value_or(1) == first.quantity.value_or(1) && take.start == start++;
  });
}

}  // namespace

std::optional<int> TakesAtOnce::segment(const StockRequest& request, int start) const {
  if (request.only_segment || request.quantity < 1 || start < 0) return std::nullopt;
  if (segments_ == 0 || request.stock.text() != stock_) return std::nullopt;
  return start % segments_;
}

void TakesAtOnce::note(const LockName& stock, int segments) {
  stock_ = stock.text();
  segments_ = segments;
}

StockBatch::StockBatch(const LockName& stock, const StockNames& names, std::span<const StockStep> steps,
                       const Eval& eval)
    : stock_(stock), names_(names) {
  while (!steps.empty()) {
    const std::span<const StockStep> some = steps.first(count_in_one_script(steps));
    scripts_.push_back(some.size() > 1 ? take_all_script(some, eval) : step_script(some.front(), eval));
    served_.push_back(some);
    steps = steps.subspan(some.size());
  }
}

Command StockBatch::take_all_script(std::span<const StockStep> takes, const Eval& eval) const {
  Command command = eval(stock_scripts::kTakeAll, names_.meta);
  command.reserve(command.size() + 3 * takes.size() + 2);
  command[2] = std::to_string(kKeys + takes.size());
  for (const StockStep& take : takes) {
    std::string& key = command.emplace_back();
    key.reserve(names_.request.size() + take.id.text().size());
    key.append(names_.request).append(take.id.text());
  }
  command.push_back(ms_text(kKeepRequests));
  command.push_back(std::to_string(names_.request.size() + 1));
  for (const StockStep& take : takes.first(are_in_a_row(takes) ? 1 : takes.size())) {
    command.push_back(std::to_string(take.quantity.value_or(1)));
    command.push_back(std::to_string(take.start));
  }
  return command;
}

Command StockBatch::step_script(const StockStep& step, const Eval& eval) const {
  const auto script = [&](const char* text, std::vector<std::string> words) {
    Command command = eval(text, names_.request + step.id.text());
    append(command, std::move(words));
    return command;
  };
  switch (step.kind) {
    case Kind::kTake:
      return script(stock_scripts::kTake,
                    take_words({stock_, step.id, step.quantity.value_or(1)}, step.start, "", Duration(0)));
    case Kind::kRefund:
      return script(stock_scripts::kRefund, refund_words({stock_, step.id, step.quantity, step.refund_id}));
    case Kind::kAdd:
      return script(stock_scripts::kAdd, add_words(step.id, *step.quantity));
  }
  return {};
}

void StockBatch::read(std::size_t i, Result<StockReply> answer, const StockAnswers& words,
                      std::vector<Result<StepAnswer>>& answers) const {
  const std::span<const StockStep> steps = served_[i];
  const bool many = answer && answer->has("served", steps.size());
  if (answer && steps.size() > 1 && !many) answer = words.not_understood();
  for (std::size_t k = 0; k < steps.size(); ++k) {
    answers.push_back(many ? one_of_many(steps[k], answer->view(k + 1), words) : words.step(stock_, steps[k], answer));
  }
}

Result<StepAnswer> StockBatch::one_of_many(const StockStep& step, std::string_view text,
                                           const StockAnswers& words) const {
  if (text.starts_with(kTaken)) {
    auto parts = parse_parts(text.substr(kTaken.size()), ',');
    return parts ? Result<StepAnswer>(StockTaken{std::move(*parts), {}, false}) : words.not_understood();
  }
  if (text.starts_with(kBroken)) return broken_stock(stock_, std::string(text.substr(kBroken.size())));
  return words.step(stock_, step, StockReply(text));
}

}  // namespace dlock::redis
