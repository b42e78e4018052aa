// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/request_record.h"

#include "lib/base/text.h"
#include "lib/stock/segment_plan.h"

namespace dlock {
namespace {

using State = RequestRecord::State;

bool is_state(char letter) {
  for (const State state : {State::kReserved, State::kTaken, State::kRefunded, State::kRefused, State::kAdded}) {
    if (letter == static_cast<char>(state)) return true;
  }
  return false;
}

std::string or_dash(std::string text) { return text.empty() ? "-" : text; }
std::string_view without_dash(std::string_view text) { return text == "-" ? std::string_view() : text; }

std::string refunds_text(const std::vector<RequestRecord::Refund>& refunds) {
  std::string text;
  for (const auto& [word, quantity] : refunds) {
    text.append(text.empty() ? " " : ",").append(word).append(":").append(std::to_string(quantity));
  }
  return text;
}

std::optional<std::vector<RequestRecord::Refund>> parse_refunds(std::string_view text) {
  std::vector<RequestRecord::Refund> refunds;
  while (!text.empty()) {
    std::string_view one = cut(text, ',');
    const std::string_view word = cut(one, ':');
    const auto quantity = parse_quantity(one);
    if (!quantity || word.empty() || (word != "-" && !from_hex(word))) return std::nullopt;
    refunds.push_back({std::string(word), *quantity});
  }
  return refunds;
}

/// A refund without an id that is the only one stands in the sum alone.
std::vector<RequestRecord::Refund> refunds_of(const RequestRecord& record) {
  if (record.refunds.empty() && record.refunded > 0) return {{"-", record.refunded}};
  return record.refunds;
}

/// The rest, or `quantity` of it.
Result<RefundPlan> plan_next_refund(const RequestRecord& record, const StockRefund& refund,
                                    std::vector<RequestRecord::Refund> refunds) {
  const Quantity left = record.quantity - record.refunded;
  const Quantity wanted = refund.quantity.value_or(left);
  if (wanted == 0 || wanted > left) return more_than_taken(refund, record.quantity, record.refunded);
  if (refunds.size() == kMostRefunds) return too_many_refunds(refund.id);
  const StockParts back = part_of(record.parts, record.refunded, wanted);
  RefundPlan plan{back, back, record};
  plan.record.state = State::kRefunded;
  plan.record.refunded += wanted;
  if (refunds.empty() && !refund.refund_id) return plan;
  refunds.push_back({refund_word(refund), wanted});
  plan.record.refunds = std::move(refunds);
  return plan;
}

}  // namespace

std::string refund_word(const StockRefund& refund) { return refund.refund_id ? hex(refund.refund_id->text()) : "-"; }

std::string record_text(const RequestRecord& record) {
  return std::string(1, static_cast<char>(record.state)) + " " + std::to_string(record.quantity) + " " +
         or_dash(parts_text(record.parts, ',')) + " " + or_dash(record.owner) + " " + std::to_string(record.refunded) +
         refunds_text(record.refunds);
}

Result<RequestRecord> parse_record(std::string_view text) {
  const Error broken{ErrorCode::kInvalid, "'" + std::string(utf8_prefix(text, 80)) + "' is not a record of a request"};
  RequestRecord record;
  const std::string_view state = cut(text, ' ');
  const auto quantity = parse_quantity(cut(text, ' '), 0);
  const auto parts = parse_parts(without_dash(cut(text, ' ')), ',');
  const std::string_view owner = without_dash(cut(text, ' '));
  const auto refunded = parse_quantity(cut(text, ' '), 0);
  if (state.size() != 1 || !is_state(state.front()) || !quantity || !parts || !refunded) return broken;
  if (!owner.empty() && !Owner::parse(owner)) return broken;
  auto refunds = parse_refunds(text);
  if (!refunds) return broken;
  return RequestRecord{
      static_cast<State>(state.front()), *quantity, *parts, std::string(owner), *refunded, std::move(*refunds)};
}

Result<std::optional<StockAnswer>> answer_again(const RequestRecord* record, const StockRequest& request,
                                                const Owner* owner) {
  if (!record) return std::optional<StockAnswer>();
  if (record->state == State::kAdded) return id_of_restock(request.id);
  if (record->state == State::kRefused) return id_refunded(request.id);
  if (record->quantity != request.quantity) return id_reused(request.id, record->quantity, request.quantity);
  if (record->state == State::kRefunded) return id_refunded(request.id, record->quantity - record->refunded);
  const bool ours = owner && record->owner == owner->text();
  if (record->state == State::kReserved && !ours) return std::optional<StockAnswer>(StockInProgress{});
  return std::optional<StockAnswer>(StockTaken{record->parts, {}, record->state == State::kTaken});
}

bool is_sold_to(const RequestRecord& record, const Owner& owner) {
  if (record.owner.empty()) return record.state == State::kTaken;
  return record.owner == owner.text() && (record.state == State::kTaken || record.state == State::kRefunded);
}

Result<RefundPlan> plan_refund(const RequestRecord* record, const StockRefund& refund) {
  if (!record || record->state == State::kRefused) {
    if (!refund.before_take) return took_nothing(refund.id);
    return RefundPlan{{}, {}, {State::kRefused, 0, {}, {}, 0}};
  }
  if (record->state == State::kAdded) return id_of_restock(refund.id);
  if (record->state == State::kReserved) return refund_while_running(refund.id);
  auto refunds = refunds_of(*record);
  Quantity before = 0;
  for (const auto& [word, quantity] : refunds) {
    if (word != refund_word(refund)) {
      before += quantity;
      continue;
    }
    const bool took_the_rest = before + quantity == record->quantity;
    if (refund.quantity ? *refund.quantity != quantity : !took_the_rest) return refunded_otherwise(refund, quantity);
    return RefundPlan{{}, part_of(record->parts, before, quantity), *record};
  }
  return plan_next_refund(*record, refund, std::move(refunds));
}

}  // namespace dlock
