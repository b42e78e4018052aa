// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/slotted_stock.h"

#include <algorithm>
#include <utility>

#include "lib/base/random.h"
#include "lib/stock/segment_plan.h"
#include "lib/stock/taking.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

/// A look at slots that never stand still asks for peace, for so long.
constexpr Duration kPeace = 200ms;
constexpr int kReadsBeforePeace = 3;

Quantity to_take(const SlotView& view) {
  Quantity sum = 0;
  for (const StockSegment& place : view.places) sum += place.quantity;
  return sum;
}

std::vector<std::vector<StockSegment>> places_of(const std::vector<SlotView>& views) {
  std::vector<std::vector<StockSegment>> all;
  for (const SlotView& view : views) all.push_back(view.places);
  return all;
}

}  // namespace

SlottedStock::SlottedStock(std::unique_ptr<StockSlots> slots, const Runtime& runtime)
    : slots_(std::move(slots)), runtime_(runtime) {}

bool SlottedStock::in_time(const CallLimit& limit) const {
  return runtime_.clock.now() < limit.until && !(limit.control && limit.control->stop_requested());
}

void SlottedStock::rest(const CallLimit& limit) {
  const Duration pause = 1ms + jitter(8ms);
  pause_until(runtime_.clock, std::min(limit.until, runtime_.clock.now() + pause), limit.control);
}

Error SlottedStock::never_alone(const std::string& what) {
  return {ErrorCode::kUnavailable, what + ": others were faster, again and again", "try again with the same --id"};
}

/// Something can be tried again: what was begun is finished, or was meanwhile. Else the error. `whole`: who made the
/// stock of which a part was missing before though all was made.
Result<void> SlottedStock::finish(const LockName& name, const CallLimit& limit, const Error& missing,
                                  std::string& whole) {
  const auto first = slots_->read_state({name, 0}, limit);
  if (!first) return first.error();
  if (first->dropping) {
    if (auto dropped = drop_all(name, first->made, first->born, limit); !dropped) return dropped;
    return no_such_stock(name, store());
  }
  if (!first->making.empty()) return finish_creating(name, *first, limit);
  if (!is_no_such_stock(missing, name, store())) return missing;
  if (std::exchange(whole, first->made) != first->made) return {};  // that may have been the one before it
  return broken_stock(name, "one of its slots has lost its part");
}

Result<void> SlottedStock::create(const LockName& name, Quantity quantity, int segments, const Owner& maker,
                                  const CallLimit& limit) {
  const int count = slots_->count();
  const Levelling plan = plan_levelling(0, quantity, segments, count);
  const std::vector<Quantity> share = share_of(spread(quantity, segments), 0, count);
  const std::string making = count > 1 ? levelling_text(plan) : "";
  while (true) {
    auto born = slots_->create({name, 0}, maker, "", making, quantity, segments, share, limit);
    if (born && count == 1) return {};
    if (born) return create_others(name, maker, *born, plan, limit);
    if (born.error().code != ErrorCode::kBusy) return born.error();
    const auto first = slots_->read_state({name, 0}, limit);
    if (!first && first.error().code == ErrorCode::kMisconfigured) continue;  // gone meanwhile
    if (!first) return first.error();
    if (!first->dropping) continue;
    if (auto dropped = drop_all(name, first->made, first->born, limit); !dropped) return dropped;
  }
}

Result<void> SlottedStock::create_others(const LockName& name, const Owner& maker, const std::string& born,
                                         const Levelling& plan, const CallLimit& limit) {
  const int count = slots_->count();
  Quantity quantity = 0;
  for (const Quantity target : plan.targets) quantity += target;
  const std::vector<Quantity> each = spread(quantity, plan.segments);
  for (int slot = 1; slot < count; ++slot) {
    auto made = slots_->create({name, slot}, maker, born, "", 0, plan.segments, share_of(each, slot, count), limit);
    if (!made) return made.error();
  }
  return slots_->made({name, 0}, maker.text(), limit);
}

Result<void> SlottedStock::finish_creating(const LockName& name, const SlotView& first, const CallLimit& limit) {
  const auto maker = Owner::parse(first.made);
  const auto plan = parse_levelling(first.making);
  if (!maker || !plan) return broken_stock(name, "it does not know how it is made: '" + first.making + "'");
  return create_others(name, *maker, first.born, *plan, limit);
}

Result<void> SlottedStock::drop(const LockName& name, const CallLimit& limit) {
  if (slots_->count() == 1) return slots_->drop({name, 0}, "", "", limit);
  const auto marked = slots_->mark_dropping({name, 0}, limit);
  if (!marked) return marked.error();
  return drop_all(name, marked->made, marked->born, limit);
}

Result<void> SlottedStock::drop_all(const LockName& name, const std::string& made, const std::string& born,
                                    const CallLimit& limit) {
  for (int slot = slots_->count() - 1; slot >= 0; --slot) {
    if (auto dropped = slots_->drop({name, slot}, made, born, limit); !dropped) return dropped;
  }
  return {};
}

/// Nothing in it is overdue or pending: that is recovered first.
Result<SlottedStock::Views> SlottedStock::read_all(const LockName& name, const CallLimit& limit) {
  return with_all_slots<Views>(name, limit, [&]() -> Result<Views> {
    while (in_time(limit)) {
      Views views;
      for (int slot = 0; slot < slots_->count(); ++slot) {
        auto view = slots_->read_state({name, slot}, limit);
        if (!view) return view.error();
        views.push_back(std::move(*view));
        if (slots_->count() == 1) return views;
        if (const SlotView& first = views.front(); slot == 0 && (first.dropping || !first.making.empty())) {
          return no_such_stock(name, store());  // not yet, or not any more
        } else if (slot == 0 && !first.levelling.empty()) {
          if (auto done = go_on(name, first.made, first.levelling, limit); !done) return done.error();
          views.clear();
          break;
        }
      }
      if (views.empty()) continue;
      const auto recovered = recover(name, views, limit);
      if (!recovered) return recovered.error();
      if (*recovered) return views;
    }
    return never_alone("looking at " + name.text());
  });
}

/// False if there was something to recover.
Result<bool> SlottedStock::recover(const LockName& name, const Views& views, const CallLimit& limit) {
  bool nothing = true;
  for (std::size_t i = 0; i < views.size(); ++i) {
    const int slot = static_cast<int>(i);
    for (const SlotView::Held& held : views[i].overdue) {
      nothing = false;
      if (auto done = recover_hold(name, slot, held, limit); !done) return done.error();
    }
    for (const PendingCredit& credit : views[i].credits) {
      nothing = false;
      if (auto done = deliver(name, slot, credit, views[i].made, limit); !done) return done.error();
    }
  }
  return nothing;
}

Result<void> SlottedStock::recover_hold(const LockName& name, int slot, const SlotView::Held& held,
                                        const CallLimit& limit) {
  const auto id = LockName::parse(held.id);
  if (!id) return broken_stock(name, "something is held for '" + held.id + "', which is no request");
  const auto fate = slots_->ask_fate({name, home_of(*id)}, held, limit);
  if (!fate) return fate.error();
  if (fate->kind == AttemptFate::Kind::kOpen) {
    return slots_->extend_hold({name, slot}, held.attempt, hold_for(fate->remaining), limit);
  }
  const bool sold = fate->kind == AttemptFate::Kind::kCommitted;
  return slots_->end_hold({name, slot}, held.attempt, sold ? HeldEnd::kConfirm : HeldEnd::kCancel, limit);
}

Result<void> SlottedStock::deliver(const LockName& name, int home, const PendingCredit& credit, const std::string& made,
                                   const CallLimit& limit) {
  const int count = slots_->count();
  for (const int slot : slots_of(credit.parts, count, -1)) {
    const PendingCredit part{credit.id, credit.book, parts_in(credit.parts, slot, count)};
    if (auto done = slots_->deliver({name, slot}, part, made, limit); !done) return done;
  }
  return slots_->delivered({name, home}, credit.id, limit);
}

/// While nothing was moved from slot to slot.
Result<SlottedStock::Views> SlottedStock::look_still(const LockName& name, const CallLimit& limit) {
  for (int reads = 1; in_time(limit); ++reads) {
    auto views = read_all(name, limit);
    if (!views || slots_->count() == 1) return views;
    const auto first = slots_->read_state({name, 0}, limit);
    if (!first) return first.error();
    const SlotView& before = views->front();
    if (first->made == before.made && first->epoch == before.epoch && first->levelling.empty()) return views;
    if (reads < kReadsBeforePeace) continue;
    if (auto still = slots_->keep_still({name, 0}, kPeace, limit); !still) return still.error();
  }
  return never_alone("looking at " + name.text());
}

Result<StockState> SlottedStock::show(const LockName& name, const CallLimit& limit) {
  const auto views = look_still(name, limit);
  if (!views) return views.error();
  StockState state{.name = name, .segments = fold(places_of(*views), views->front().segments)};
  for (const SlotView& view : *views) {
    state.created += view.created;
    state.added += view.added;
    state.taken += view.taken;
    state.refunded += view.refunded;
    state.open += view.open;
  }
  return state;
}

Result<void> SlottedStock::rebalance(const LockName& name, const CallLimit& limit) {
  return level(name, std::nullopt, limit);
}

Result<void> SlottedStock::resize(const LockName& name, int segments, const CallLimit& limit) {
  return level(name, segments, limit);
}

Result<void> SlottedStock::level(const LockName& name, std::optional<int> segments, const CallLimit& limit) {
  if (slots_->count() == 1) return slots_->level({name, 0}, segments, limit);
  while (in_time(limit)) {
    const auto views = read_all(name, limit);
    if (!views) return views.error();
    const SlotView& first = views->front();
    Quantity total = 0;
    for (const SlotView& view : *views) total += to_take(view);
    const Levelling plan = plan_levelling(first.epoch + 1, total, segments.value_or(first.segments), slots_->count());
    const auto begun = slots_->begin_levelling({name, 0}, plan, first.made, limit);
    if (!begun) return begun.error();
    if (*begun) return go_on(name, first.made, levelling_text(plan), limit);
    rest(limit);
  }
  return never_alone("levelling " + name.text());
}

/// Every step can be done by several, and counts once.
Result<void> SlottedStock::go_on(const LockName& name, const std::string& made, const std::string& text,
                                 const CallLimit& limit) {
  const auto plan = parse_levelling(text);
  const int count = slots_->count();
  if (!plan || plan->targets.size() != static_cast<std::size_t>(count)) {
    return broken_stock(name, "it cannot go on with the levelling '" + text + "'");
  }
  std::vector<Quantity> left;
  Quantity poured = 0;
  for (int slot = 0; slot < count; ++slot) {
    const auto out = slots_->pour_out({name, slot}, *plan, made, limit);
    if (!out) return out.error();
    if (!*out) return {};  // others have finished it
    left.push_back((*out)->left);
    poured += (*out)->out;
  }
  const std::vector<Quantity> gets = pour(plan->targets, left, poured);
  for (int slot = 0; slot < count; ++slot) {
    auto in = slots_->pour_in({name, slot}, *plan, gets[static_cast<std::size_t>(slot)], made, limit);
    if (!in) return in;
  }
  return slots_->end_levelling({name, 0}, *plan, made, limit);
}

}  // namespace dlock
