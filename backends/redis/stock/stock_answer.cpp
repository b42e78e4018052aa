// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/stock/stock_answer.h"

#include <algorithm>

#include "lib/base/text.h"

namespace dlock::redis {

Result<StockParts> parse_answered(std::string_view text) {
  return text.empty() || text == "-" ? Result<StockParts>(StockParts()) : parse_parts(text, ',');
}

StockReply::StockReply(std::string_view words) {
  reply_.kind = Reply::Kind::kArray;
  do {
    reply_.elements.push_back({Reply::Kind::kString, std::string(cut(words, ' ')), 0, {}});
  } while (!words.empty());
}

Error StockAnswers::not_understood() const {
  return {ErrorCode::kUnavailable, store_ + " answered what dlock does not understand",
          "is another program using names that begin with 'dlock:stock:' there?"};
}

Result<void> StockAnswers::ok(const Result<StockReply>& answer) const {
  if (!answer) return answer.error();
  return answer->is("ok") ? Result<void>() : not_understood();
}

Result<StockAnswer> StockAnswers::deduction(const StockRequest& request, const Result<StockReply>& answer) const {
  if (!answer) return answer.error();
  if (answer->has("short", 2)) return StockAnswer(StockShort{answer->quantity(1), answer->quantity(2)});
  if (answer->is("progress")) return StockAnswer(StockInProgress{});
  if (answer->is("refunded")) return id_refunded(request.id);
  if (answer->is("restock")) return id_of_restock(request.id);
  if (answer->is("reused")) return id_reused(request.id, answer->quantity(1), request.quantity);
  auto parts = parse_answered(answer->text(1));
  if (!parts) return not_understood();
  if (answer->is("taken")) return StockAnswer(StockTaken{std::move(*parts), {}, false});
  if (answer->is("repeated")) return StockAnswer(StockTaken{std::move(*parts), {}, true});
  const auto token = FencingToken::parse(answer->text(2));
  if (!answer->has("reserved", 2) || !token) return not_understood();
  return StockAnswer(StockTaken{std::move(*parts), *token, false});
}

/// A stock that is not there has sold nothing.
Result<void> StockAnswers::sale(const StockRequest& request, const Result<StockReply>& answer) const {
  const bool over = answer ? answer->is("over") : answer.error().code == ErrorCode::kMisconfigured;
  return over ? reservation_over(request.stock, request.id) : ok(answer);
}

/// In a stock that is not there nothing is set aside.
Result<void> StockAnswers::cancellation(const StockRequest& request, const Result<StockReply>& answer) const {
  if (!answer && answer.error().code == ErrorCode::kMisconfigured) return {};
  return answer && answer->is("sold") ? sold_already(request.id) : ok(answer);
}

Result<StockParts> StockAnswers::change(std::string_view word, const StockReply& answer) const {
  auto parts = parse_answered(answer.text(1));
  return answer.has(word, 1) && parts ? std::move(parts) : not_understood();
}

Result<StockParts> StockAnswers::refund(const StockRefund& refund, const Result<StockReply>& answer) const {
  if (!answer) return answer.error();
  if (answer->is("nothing")) return StockParts();
  if (answer->is("running")) return refund_while_running(refund.id);
  if (answer->is("restock")) return id_of_restock(refund.id);
  if (answer->is("more")) return more_than_taken(refund, answer->quantity(1), answer->quantity(2));
  if (answer->is("otherwise")) return refunded_otherwise(refund, answer->quantity(1));
  if (answer->is("many")) return too_many_refunds(refund.id);
  return change("back", *answer);
}

Result<StockParts> StockAnswers::restock(const LockName& id, Quantity quantity,
                                         const Result<StockReply>& answer) const {
  if (!answer) return answer.error();
  if (answer->is("take")) return id_of_take(id);
  if (answer->is("reused")) return id_reused(id, answer->quantity(1), quantity);
  if (answer->is("full")) return too_many_items(id, quantity);
  return change("added", *answer);
}

Result<StepAnswer> StockAnswers::step(const LockName& stock, const StockStep& step,
                                      const Result<StockReply>& answer) const {
  using Kind = StockStep::Kind;
  const StockRequest request{stock, step.id, step.quantity.value_or(1)};
  if (step.kind == Kind::kTake) {
    auto got = deduction(request, answer);
    return got ? Result<StepAnswer>(step_answer(std::move(*got))) : got.error();
  }
  auto changed = step.kind == Kind::kRefund ? refund({stock, step.id, step.quantity, step.refund_id}, answer)
                                            : restock(step.id, *step.quantity, answer);
  return changed ? Result<StepAnswer>(std::move(*changed)) : changed.error();
}

}  // namespace dlock::redis
