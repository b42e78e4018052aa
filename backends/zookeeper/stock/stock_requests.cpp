// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/stock/stock_requests.h"

#include <numeric>

#include "lib/stock/segment_plan.h"

namespace dlock::zookeeper {

using State = RequestRecord::State;

namespace {

Result<Step> written(const Result<void>& moved) { return moved ? Result<Step>(Step::kWrite) : moved.error(); }

}  // namespace

Result<Step> Confirmation::decide(StockCall& call) {
  over = false;
  bool given = false;
  const auto seen = call.request_now(id, &given, segment);
  if (!seen) return seen.error();
  if (given) return Step::kWriteThenRead;
  if (*seen && is_sold_to((*seen)->note.record, owner)) return Step::kConclude;
  over = !*seen || !(*seen)->is_reserved() || !(*seen)->is_of(owner);
  if (over) return Step::kConclude;
  StockNote sold{(*seen)->note.record, 0};
  sold.record.state = State::kTaken;
  call.remember(id, sold, *seen);
  call.close_reservation(id);
  return written(call.move_parts(sold.record.parts, {.reserved = -1, .taken = 1}));
}

Result<Step> Cancellation::decide(StockCall& call) {
  const auto seen = call.request(id, segment);
  if (!seen) return seen.error();
  if (*seen && (*seen)->note.record.state == State::kTaken) return sold_already(id);
  if (!*seen || !(*seen)->is_reserved() || !(*seen)->is_of(owner)) return Step::kConclude;
  return written(call.give_back(**seen));
}

Result<Step> Refunding::decide(StockCall& call) {
  bool given = false;
  const auto seen = call.request_now(id, &given);
  if (!seen) return seen.error();
  if (given) return Step::kWriteThenRead;
  auto plan = plan_refund(*seen ? &(*seen)->note.record : nullptr, id, quantity);
  if (!plan) return plan.error();
  parts = std::move(plan->answer);
  const bool done_before = *seen && record_text((*seen)->note.record) == record_text(plan->record);
  if (done_before) return Step::kConclude;
  call.remember(id, {std::move(plan->record), 0}, *seen);
  return written(call.move_parts(plan->back, {.quantity = 1, .refunded = 1}));
}

Result<Step> Restocking::decide(StockCall& call) {
  bool given = false;
  const auto seen = call.request_now(id, &given);
  if (!seen) return seen.error();
  if (given) return Step::kWriteThenRead;
  if (*seen) {
    const RequestRecord& record = (*seen)->note.record;
    if (record.state != State::kAdded) return id_of_take(id);
    if (record.quantity != quantity) return id_reused(id, record.quantity, quantity);
    parts = record.parts;
    return Step::kConclude;
  }
  if (auto loaded = call.load_all(); !loaded) return loaded.error();
  const std::vector<Quantity> have = call.quantities();
  if (quantity > kMostItems - std::accumulate(have.begin(), have.end(), Quantity{0})) {
    return too_many_items(id, quantity);
  }
  parts = fill_emptiest(have, quantity);
  call.remember(id, {{State::kAdded, quantity, parts, {}, 0}, 0}, std::nullopt);
  return written(call.move_parts(parts, {.quantity = 1, .added = 1}));
}

}  // namespace dlock::zookeeper
