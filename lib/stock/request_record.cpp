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

}  // namespace

std::string record_text(const RequestRecord& record) {
  return std::string(1, static_cast<char>(record.state)) + " " + std::to_string(record.quantity) + " " +
         or_dash(parts_text(record.parts, ',')) + " " + or_dash(record.owner) + " " + std::to_string(record.refunded);
}

Result<RequestRecord> parse_record(std::string_view text) {
  const Error broken{ErrorCode::kInvalid, "'" + std::string(utf8_prefix(text, 80)) + "' is no record of a request"};
  RequestRecord record;
  const std::string_view state = cut(text, ' ');
  const auto quantity = parse_quantity(cut(text, ' '), 0);
  const auto parts = parse_parts(without_dash(cut(text, ' ')), ',');
  const std::string_view owner = without_dash(cut(text, ' '));
  const auto refunded = parse_quantity(cut(text, ' '), 0);
  if (state.size() != 1 || !is_state(state.front()) || !quantity || !parts || !refunded || !text.empty()) return broken;
  if (!owner.empty() && !Owner::parse(owner)) return broken;
  return RequestRecord{static_cast<State>(state.front()), *quantity, *parts, std::string(owner), *refunded};
}

Result<std::optional<StockAnswer>> answer_again(const RequestRecord* record, const StockRequest& request,
                                                const Owner* owner) {
  if (!record) return std::optional<StockAnswer>();
  if (record->state == State::kAdded) return id_of_restock(request.id);
  if (record->state == State::kRefused) return id_refunded(request.id);
  if (record->quantity != request.quantity) return id_reused(request.id, record->quantity, request.quantity);
  if (record->state == State::kRefunded) return id_refunded(request.id);
  const bool ours = owner && record->owner == owner->text();
  if (record->state == State::kReserved && !ours) return std::optional<StockAnswer>(StockInProgress{});
  return std::optional<StockAnswer>(StockTaken{record->parts, {}, record->state == State::kTaken});
}

bool is_sold_to(const RequestRecord& record, const Owner& owner) {
  if (record.owner.empty()) return record.state == State::kTaken;
  return record.owner == owner.text() && (record.state == State::kTaken || record.state == State::kRefunded);
}

Result<RefundPlan> plan_refund(const RequestRecord* record, const LockName& id, std::optional<Quantity> quantity) {
  if (!record || record->state == State::kRefused) return RefundPlan{{}, {}, {State::kRefused, 0, {}, {}, 0}};
  if (record->state == State::kAdded) return id_of_restock(id);
  if (record->state == State::kReserved) return refund_while_running(id);
  const Quantity wanted = quantity.value_or(record->quantity);
  if (record->state == State::kRefunded) {
    if (record->refunded != wanted) return refunded_otherwise(id, record->refunded);
    return RefundPlan{{}, first_of(record->parts, wanted), *record};
  }
  if (wanted > record->quantity) return more_than_taken(id, record->quantity, wanted);
  RefundPlan plan{first_of(record->parts, wanted), first_of(record->parts, wanted), *record};
  plan.record.state = State::kRefunded;
  plan.record.refunded = wanted;
  return plan;
}

}  // namespace dlock
