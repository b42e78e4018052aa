// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/stock_decisions.h"

#include <algorithm>
#include <set>
#include <utility>

#include "lib/stock/segment_plan.h"
#include "lib/stock/stock_rows.h"

namespace dlock {
namespace {

using State = RequestRecord::State;

Rows::Commit deduct_parts(Step& step, const Wish& wish, StockParts parts) {
  const RequestRecord record{wish.owner ? State::kReserved : State::kTaken, wish.quantity, parts,
                             wish.owner ? wish.owner->text() : std::string(), 0};
  step.promised = StockTaken{std::move(parts), {}, false};
  return wish.owner ? reservation_commit(step.id, record, wish.ttl, wish.locks) : sale_commit(step.id, record);
}

Rows::Commit answer_known(const LockName& name, const StockLook& look, Step& step, const Wish& wish) {
  const SeenRequest& seen = look.requests.at(step.id);
  if (seen.is_over(look.now_us)) return return_commit(step.id, seen, *look.head);
  auto again = answer_again(&*seen.record, {name, step.id, wish.quantity}, wish.owner);
  if (!again) {
    step.answer = again.error();
    return {};
  }
  const auto* taken = std::get_if<StockTaken>(&**again);
  const bool is_ours = taken && !taken->repeated;
  step.prolonged = is_ours;
  if (is_ours) step.promised = step_answer(std::move(**again));
  else step.answer = step_answer(std::move(**again));
  return is_ours ? extension_commit(step.id, seen, wish.ttl) : Rows::Commit();
}

Rows::Commit wait_for_locks(const StockLook& look, Step& step, const Wish& wish) {
  step.promised = StockInProgress{look.turn(wish.chance)};
  step.unmet = look.has_old_locks();
  if (!step.unmet) step.answer = step.promised;
  return {};
}

/// The first segment whose lock is free, whatever it has. Who was refused although nobody had it has not enough there.
Rows::Commit decide_by_locks(const StockLook& look, int first, Step& step, const Wish& wish) {
  const auto tried = std::exchange(step.tried, std::nullopt);
  const auto lock = tried ? look.locks.find(tried->first) : look.locks.end();
  step.wants_all = lock != look.locks.end() && lock->second.version == tried->second;
  if (step.wants_all) return {};
  for (int i = 0; i < look.head->segments; ++i) {
    const int segment = (first + i) % look.head->segments;
    if (!look.locks.contains(segment) || look.is_locked(segment)) continue;
    step.tried = {segment, look.locks.at(segment).version};
    return deduct_parts(step, wish, {{segment, wish.quantity}});
  }
  return wait_for_locks(look, step, wish);
}

}  // namespace

std::span<const StockStep> together(std::span<const StockStep> steps) {
  std::set<std::string_view> ids;
  std::size_t count = 0;
  for (const StockStep& step : steps) {
    if (step.kind != steps.front().kind || !ids.insert(step.id.text()).second) break;
    ++count;
    if (step.kind == StockStep::Kind::kAdd) break;  // the next one finds other segments the emptiest
  }
  return steps.first(count);
}

Rows::Commit decide_take(const LockName& name, StockLook& look, int races, Step& step, const Wish& wish) {
  const auto seen = look.requests.find(step.id);
  if (seen != look.requests.end() && seen->second.record) return answer_known(name, look, step, wish);
  const int first = (wish.start % look.head->segments + std::max(0, races - 1)) % look.head->segments;
  if (look.segments.empty() && !look.locks.empty()) return decide_by_locks(look, first, step, wish);
  if (look.segments.empty()) return deduct_parts(step, wish, {{first, wish.quantity}});
  auto parts = choose_parts(look.unlocked(), first, wish.quantity);
  if (!parts) {
    const StockShort by{look.available(), look.reserved()};
    if (by.available >= wish.quantity) return wait_for_locks(look, step, wish);
    step.unmet = !look.drawn && by.reserved > 0;  // what others of this look are to have may not become theirs
    step.promised = by;
    if (!look.drawn && by.reserved == 0) step.answer = StepAnswer(by);
    return {};
  }
  look.drawn = true;
  for (const auto& [segment, quantity] : *parts) {
    SegmentCounts& counts = look.segments[static_cast<std::size_t>(segment)];
    if (counts.taken > kMostItems - quantity) {
      step.answer = has_sold_too_many(name, segment);
      return {};
    }
    counts.quantity -= quantity;
    counts.taken += quantity;
  }
  return deduct_parts(step, wish, std::move(*parts));
}

Rows::Commit decide_refund(const StockLook& look, Step& step, const StockRefund& refund) {
  const SeenRequest& seen = look.requests.at(step.id);
  if (seen.is_over(look.now_us)) return return_commit(step.id, seen, *look.head);
  auto plan = plan_refund(seen.record ? &*seen.record : nullptr, refund);
  if (!plan) {
    step.answer = plan.error();
    return {};
  }
  if (plan->back.empty() && seen.record) {
    step.answer = StepAnswer(StockMoved{std::move(plan->answer), true});
    return {};
  }
  step.promised = StockMoved{std::move(plan->answer)};
  return refund_commit(step.id, seen, *plan, *look.head);
}

Rows::Commit decide_restock(const StockLook& look, Step& step, Quantity quantity) {
  const SeenRequest& seen = look.requests.at(step.id);
  const StockHead& head = *look.head;
  if (seen.is_over(look.now_us)) return return_commit(step.id, seen, head);
  if (seen.record) {
    const State state = seen.record->state;
    if (state != State::kAdded) step.answer = id_of_take(step.id, state == State::kRefused);
    else if (seen.record->quantity != quantity) step.answer = id_reused(step.id, seen.record->quantity, quantity);
    else step.answer = StepAnswer(StockMoved{seen.record->parts, true});
    return {};
  }
  if (const auto room = check_room(step.id, quantity, head.created + head.added); !room) {
    step.answer = room.error();
    return {};
  }
  auto have = look.quantities();
  have.resize(static_cast<std::size_t>(head.segments));
  const RequestRecord record{State::kAdded, quantity, fill_emptiest(have, quantity), {}, 0};
  step.promised = StockMoved{record.parts};
  return restock_commit(step.id, record, head);
}

std::optional<Result<void>> answer_without(const StockRequest& request, const Owner& owner, const SeenRequest& seen,
                                           bool confirms, bool cancels) {
  if (seen.is_open_for(owner)) return std::nullopt;
  if (confirms && seen.record && is_sold_to(*seen.record, owner)) return Result<void>();
  if (!cancels) return reservation_over(request.stock, request.id);
  return seen.record && seen.record->state == State::kTaken ? sold_already(request.id) : Result<void>();
}

std::vector<Transfer> transfers(const std::vector<Quantity>& have, const std::vector<Quantity>& want) {
  std::vector<Transfer> plan;
  std::vector<Quantity> more(have.size());
  for (std::size_t i = 0; i < have.size(); ++i) more[i] = want[i] - have[i];
  std::size_t to = 0;
  for (std::size_t from = 0; from < more.size(); ++from) {
    while (more[from] < 0) {
      while (more[to] <= 0) ++to;
      const Quantity some = std::min(-more[from], more[to]);
      plan.push_back({from, to, some});
      more[from] += some;
      more[to] -= some;
    }
  }
  return plan;
}

std::vector<Quantity> by_segment(std::span<const Transfer> some, std::size_t count) {
  std::vector<Quantity> by(count);
  for (const Transfer& one : some) {
    by[one.from] -= one.quantity;
    by[one.to] += one.quantity;
  }
  return by;
}

}  // namespace dlock
