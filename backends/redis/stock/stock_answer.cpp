// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/stock/stock_answer.h"

#include <algorithm>

#include "lib/base/text.h"

namespace dlock::redis {

Result<SlotParts> parse_slot_parts(std::string_view text) {
  const std::size_t at = text.find('@');
  SlotParts all;
  if (at != std::string_view::npos) all.attempt = text.substr(at + 1);
  text = text.substr(0, at);
  if (text.empty() || text == "-") return all;
  auto parts = parse_parts(text, ',');
  if (!parts) return parts.error();
  all.parts = std::move(*parts);
  return all;
}

Result<PendingCredit> parse_credit(std::string id, const std::string& text) {
  PendingCredit credit{std::move(id), PendingCredit::Book::kRefunded, {}};
  if (text == "-") return credit;
  auto parts = parse_parts(std::string_view(text).substr(std::min<std::size_t>(2, text.size())), ',');
  if (!parts) return parts.error();
  credit.book = text.starts_with('a') ? PendingCredit::Book::kAdded : PendingCredit::Book::kRefunded;
  credit.parts = std::move(*parts);
  return credit;
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

Result<SlotParts> StockAnswers::parts_of(const Result<StockReply>& answer) const {
  if (!answer) return answer.error();
  auto parts = parse_slot_parts(answer->text(1));
  return answer->is("ok") && parts ? std::move(parts) : not_understood();
}

Result<SlotAnswer> StockAnswers::taken(std::string_view parts, bool repeated) const {
  auto got = parse_slot_parts(parts);
  if (!got) return not_understood();
  return SlotAnswer{StockTaken{std::move(got->parts), {}, repeated}, std::move(got->attempt)};
}

Result<SlotAnswer> StockAnswers::deduction(const StockRequest& request, const Result<StockReply>& answer) const {
  if (!answer) return answer.error();
  if (answer->is("taken")) return taken(answer->text(1), false);
  if (answer->is("repeated")) return taken(answer->text(1), true);
  if (answer->has("short", 2)) return SlotAnswer{StockShort{answer->quantity(1), answer->quantity(2)}, ""};
  if (answer->is("progress")) return SlotAnswer{StockInProgress{}, ""};
  if (answer->is("refunded")) return id_refunded(request.id);
  if (answer->is("restock")) return id_of_restock(request.id);
  if (answer->is("reused")) return id_reused(request.id, answer->quantity(1), request.quantity);
  auto got = parse_slot_parts(answer->text(1));
  if (!got) return not_understood();
  const auto token = FencingToken::parse(answer->text(2));
  if (!answer->has("reserved", 2) || !token) return not_understood();
  return SlotAnswer{StockTaken{std::move(got->parts), *token, false}, std::move(got->attempt)};
}

Result<SlotParts> StockAnswers::sale(const StockRequest& request, const Result<StockReply>& answer) const {
  if (answer && answer->is("over")) return reservation_over(request.stock, request.id);
  return parts_of(answer);
}

Result<SlotParts> StockAnswers::cancellation(const StockRequest& request, const Result<StockReply>& answer) const {
  if (answer && answer->is("sold")) return sold_already(request.id);
  return parts_of(answer);
}

/// "{word, parts, credit, made}"
Result<SlotChange> StockAnswers::change(const LockName& id, const StockReply& answer) const {
  auto parts = parse_slot_parts(answer.text(1));
  auto credit = parse_credit(id.text(), answer.text(2));
  if (!parts || !credit) return not_understood();
  return SlotChange{std::move(parts->parts), std::move(*credit), answer.text(3)};
}

Result<SlotChange> StockAnswers::refund(const LockName& id, std::optional<Quantity> quantity,
                                        const Result<StockReply>& answer) const {
  if (!answer) return answer.error();
  if (answer->is("nothing")) return SlotChange{};
  if (answer->is("running")) return refund_while_running(id);
  if (answer->is("restock")) return id_of_restock(id);
  if (answer->is("more")) return more_than_taken(id, answer->quantity(1), *quantity);
  if (answer->is("otherwise")) return refunded_otherwise(id, answer->quantity(1));
  return answer->has("back", 3) ? change(id, *answer) : not_understood();
}

Result<SlotChange> StockAnswers::restock(const LockName& id, Quantity quantity,
                                         const Result<StockReply>& answer) const {
  if (!answer) return answer.error();
  if (answer->is("take")) return id_of_take(id);
  if (answer->is("reused")) return id_reused(id, answer->quantity(1), quantity);
  if (answer->is("full")) return too_many_items(id, quantity);
  return answer->has("added", 3) ? change(id, *answer) : not_understood();
}

Result<StepAnswer> StockAnswers::step(const LockName& stock, const StockStep& step,
                                      const Result<StockReply>& answer) const {
  using Kind = StockStep::Kind;
  const StockRequest request{stock, step.id, step.quantity.value_or(1)};
  if (step.kind == Kind::kTake) {
    auto got = deduction(request, answer);
    return got ? Result<StepAnswer>(step_answer(std::move(got->answer))) : got.error();
  }
  if (step.kind == Kind::kConfirm || step.kind == Kind::kCancel) {
    const auto done = step.kind == Kind::kConfirm ? sale(request, answer) : cancellation(request, answer);
    // A stock that is not there has sold nothing, and nothing is set aside in it.
    const bool missing = !done && done.error().code == ErrorCode::kMisconfigured;
    if (missing && step.kind == Kind::kConfirm) return reservation_over(stock, step.id);
    return done || missing ? Result<StepAnswer>(StockParts()) : done.error();
  }
  auto changed =
      step.kind == Kind::kRefund ? refund(step.id, step.quantity, answer) : restock(step.id, *step.quantity, answer);
  return changed ? Result<StepAnswer>(std::move(changed->answer)) : changed.error();
}

}  // namespace dlock::redis
