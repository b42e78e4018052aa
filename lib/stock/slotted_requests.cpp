// SPDX-License-Identifier: Apache-2.0
// The requests of a stock in several slots; the stock itself: slotted_stock.cpp.
#include <algorithm>

#include "lib/base/random.h"
#include "lib/stock/segment_plan.h"
#include "lib/stock/slotted_stock.h"
#include "lib/stock/take_order.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

/// How long is tried to tell the other slots what was decided; others find it out then.
constexpr Duration kTellBudget = 1s;

/// Nothing can have come in between the two: what was short was short at one moment.
bool nothing_gained(const std::vector<SlotView>& before, const std::vector<SlotView>& now) {
  if (before.front().made != now.front().made || before.front().epoch != now.front().epoch) return false;
  return std::equal(before.begin(), before.end(), now.begin(),
                    [](const SlotView& a, const SlotView& b) { return a.gains == b.gains; });
}

StockShort what_is_there(const std::vector<SlotView>& views) {
  StockShort all;
  for (const SlotView& view : views) {
    for (const StockSegment& place : view.places) {
      all.available += place.quantity;
      all.reserved += place.reserved;
    }
  }
  return all;
}

std::optional<StockParts> choose(const SlotTake& take, const std::vector<SlotView>& views) {
  const StockRequest& request = take.request;
  std::vector<std::vector<StockSegment>> places;
  for (const SlotView& view : views) places.push_back(view.places);
  const std::vector<Quantity> have = by_number(places);
  if (!request.only_segment) return choose_parts(have, take.start, request.quantity);
  if (*request.only_segment >= views.front().segments) return std::nullopt;
  return choose_from(have, *request.only_segment, request.quantity);
}

bool is_taken(const SlotAnswer& answer) { return std::holds_alternative<StockTaken>(answer.answer); }

}  // namespace

Result<StockAnswer> SlottedStock::take(const StockRequest& request, int start, const CallLimit& limit) {
  auto answer = deduct({request, "", Duration(0), start}, limit);
  if (!answer) return answer.error();
  return std::move(answer->answer);
}

Result<StockAnswer> SlottedStock::reserve(const StockRequest& request, const Owner& owner, Duration ttl, int start,
                                          const CallLimit& limit) {
  auto answer = deduct({request, owner.text(), ttl, start}, limit);
  if (!answer) return answer.error();
  auto* taken = std::get_if<StockTaken>(&answer->answer);
  if (taken && !taken->repeated && slots_->count() > 1) {
    const auto token = slots_->token({request.stock, 0}, limit);
    if (!token) return token.error();
    taken->token = *token;
  }
  return std::move(answer->answer);
}

/// The home slot first: it knows the request, and may have enough.
Result<SlotAnswer> SlottedStock::deduct(const SlotTake& take, const CallLimit& limit) {
  const StockPlace home{take.request.stock, home_of(take.request.id)};
  return with_all_slots<SlotAnswer>(home.stock, limit, [&]() -> Result<SlotAnswer> {
    while (true) {
      auto answer = slots_->take(home, take, limit);
      const bool is_short = answer && std::holds_alternative<StockShort>(answer->answer);
      if (!is_short || slots_->count() == 1) return answer;
      auto gathered = gather(take, home.slot, limit);
      if (!gathered) return gathered.error();
      if (*gathered) return std::move(**gathered);
      if (!in_time(limit)) return never_alone("taking from " + home.stock.text());
      rest(limit);
    }
  });
}

/// nullopt: others came in between.
Result<std::optional<SlotAnswer>> SlottedStock::gather(const SlotTake& take, int home, const CallLimit& limit) {
  const LockName& name = take.request.stock;
  auto views = read_all(name, limit);
  if (!views) return views.error();
  auto parts = choose(take, *views);
  if (parts) {
    return try_to_gather(take, home, {random_hex(16), views->front().made, std::move(*parts)}, limit);
  }
  const auto again = read_all(name, limit);
  if (!again) return again.error();
  if (!nothing_gained(*views, *again)) return std::optional<SlotAnswer>();
  return std::optional(SlotAnswer{what_is_there(*again), ""});
}

Result<std::optional<SlotAnswer>> SlottedStock::try_to_gather(const SlotTake& take, int home,
                                                              const SlotAttempt& attempt, const CallLimit& limit) {
  const LockName& name = take.request.stock;
  const int count = slots_->count();
  StockParts touched;
  const auto give_up = [&] { end_holds(name, home, {touched, attempt.id}, HeldEnd::kCancel, limit); };
  for (const int slot : slots_of(attempt.parts, count, home)) {
    const StockParts here = parts_in(attempt.parts, slot, count);
    touched.insert(touched.end(), here.begin(), here.end());
    const Duration held_for = hold_for(take.owner.empty() ? Duration::max() : take.ttl);
    const auto held = slots_->hold({name, slot}, attempt, take.request.id, held_for, limit);
    if (held && *held) continue;
    give_up();  // also where no answer came from: nothing will commit this attempt
    if (!held) return held.error();
    return std::optional<SlotAnswer>();
  }
  auto answer = slots_->commit({name, home}, take, attempt, limit);
  // With an unknown outcome only the record knows: what is held is asked for when it is overdue.
  if (!answer && (answer.error().code == ErrorCode::kUnavailable || answer.error().code == ErrorCode::kCancelled)) {
    return answer.error();
  }
  if (answer && is_taken(*answer) && answer->attempt == attempt.id) {
    if (take.owner.empty()) end_holds(name, home, {touched, attempt.id}, HeldEnd::kConfirm, limit);
    return std::optional(std::move(*answer));
  }
  give_up();
  if (!answer) return answer.error();
  if (std::holds_alternative<StockShort>(answer->answer)) return std::optional<SlotAnswer>();
  return std::optional(std::move(*answer));
}

/// As well as it goes: it is decided.
void SlottedStock::end_holds(const LockName& name, int home, const SlotParts& parts, HeldEnd end,
                             const CallLimit& limit) {
  if (parts.attempt.empty()) return;
  const CallLimit soon{std::min(limit.until, runtime_.clock.now() + kTellBudget), limit.control};
  for (const int slot : slots_of(parts.parts, slots_->count(), home)) {
    while (true) {
      const auto told = slots_->end_hold({name, slot}, parts.attempt, end, soon);
      if (told || told.error().code != ErrorCode::kUnavailable || !in_time(soon)) break;
      rest(soon);
    }
  }
}

Duration SlottedStock::hold_for(Duration ttl) {
  constexpr Duration kShortest = 500ms;
  constexpr Duration kLongest = 2s;
  return std::clamp(ttl, kShortest, kLongest);
}

Result<void> SlottedStock::extend(const StockRequest& request, const Owner& owner, Duration ttl,
                                  const CallLimit& limit) {
  auto done = slots_->extend(request, home_of(request.id), owner, ttl, limit);
  if (!done && done.error().code == ErrorCode::kMisconfigured) return reservation_over(request.stock, request.id);
  return done;
}

Result<void> SlottedStock::confirm(const StockRequest& request, const Owner& owner, const CallLimit& limit) {
  const int home = home_of(request.id);
  const auto sold = slots_->confirm(request, home, owner, limit);
  if (!sold && sold.error().code == ErrorCode::kMisconfigured) return reservation_over(request.stock, request.id);
  if (!sold) return sold.error();
  end_holds(request.stock, home, *sold, HeldEnd::kConfirm, limit);
  return {};
}

Result<void> SlottedStock::cancel(const StockRequest& request, const Owner& owner, const CallLimit& limit) {
  const int home = home_of(request.id);
  const auto back = slots_->cancel(request, home, owner, limit);
  if (!back && back.error().code == ErrorCode::kMisconfigured) return {};  // no stock: nothing is set aside
  if (!back) return back.error();
  end_holds(request.stock, home, *back, HeldEnd::kCancel, limit);
  return {};
}

Result<StockParts> SlottedStock::refund(const LockName& name, const LockName& id, std::optional<Quantity> quantity,
                                        const CallLimit& limit) {
  return with_all_slots<StockParts>(name, limit, [&]() -> Result<StockParts> {
    auto change = slots_->refund({name, home_of(id)}, id, quantity, limit);
    return deliver_credit(name, home_of(id), std::move(change), limit);
  });
}

Result<StockParts> SlottedStock::add(const LockName& name, const LockName& id, Quantity quantity,
                                     const CallLimit& limit) {
  return with_all_slots<StockParts>(name, limit, [&]() -> Result<StockParts> {
    StockParts parts;
    if (slots_->count() > 1) {
      const auto state = show(name, limit);
      if (!state) return state.error();
      std::vector<Quantity> have;
      for (const StockSegment& segment : state->segments) have.push_back(segment.quantity);
      if (quantity <= kMostItems - state->created - state->added) parts = fill_emptiest(have, quantity);
    }
    return deliver_credit(name, home_of(id), slots_->add({name, home_of(id)}, id, quantity, parts, limit), limit);
  });
}

/// The answer, once no credit is pending.
Result<StockParts> SlottedStock::deliver_credit(const LockName& name, int home, Result<SlotChange> change,
                                                const CallLimit& limit) {
  if (!change) return change.error();
  if (!change->credit.parts.empty()) {
    if (auto done = deliver(name, home, change->credit, change->made, limit); !done) return done.error();
  }
  return std::move(change->answer);
}

}  // namespace dlock
