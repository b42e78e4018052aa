// SPDX-License-Identifier: Apache-2.0
#include "tests/support/memory_slots.h"

#include <algorithm>

#include "lib/stock/segment_plan.h"
#include "lib/stock/take_order.h"

namespace dlock::testing {
namespace {

using State = RequestRecord::State;

StockShort short_of(const MemorySlot& slot) {
  StockShort all{slot.sum(), 0};
  for (const StockSegment& place : slot.places) all.reserved += place.reserved;
  return all;
}

}  // namespace

StockSegment& MemorySlots::at(MemorySlot& slot, int number, int segment) {
  const int place = segment % count() == number ? segment / count() : segment;
  return slot.places[static_cast<std::size_t>(place) % slot.places.size()];
}

bool MemorySlots::has(MemorySlot& slot, int number, const StockParts& parts) {
  return std::all_of(parts.begin(), parts.end(), [&](const StockPart& part) {
    return static_cast<std::size_t>(part.segment / count()) < slot.places.size() &&
           at(slot, number, part.segment).quantity >= part.quantity;
  });
}

void MemorySlots::give_back(MemorySlot& slot, int number, const std::string& id) {
  for (const StockPart& part : mine(slot.records.at(id).parts, number)) {
    at(slot, number, part.segment).quantity += part.quantity;
    at(slot, number, part.segment).reserved -= part.quantity;
  }
  ++slot.gains;
  slot.records.erase(id);
  slot.attempts.erase(id);
  slot.until.erase(id);
}

Result<std::string> MemorySlots::create(const StockPlace& place, const Owner& maker, const std::string& born,
                                        const std::string& making, Quantity created, int segments,
                                        const std::vector<Quantity>& places, const CallLimit&) {
  return step<std::string>("create", place, [&](MemorySlot& slot) -> Result<std::string> {
    if (slot.made == maker.text()) return slot.born;
    if (born.empty() && slot.dropping) return Error{ErrorCode::kBusy, "being dropped"};
    if (born.empty() && !slot.made.empty()) return stock_exists(place.stock, store_);
    slot = {};
    slot.made = maker.text();
    slot.born = born.empty() ? "1" : born;
    slot.making = making;
    slot.created = created;
    slot.segments = segments;
    for (const Quantity one : places) slot.places.push_back({one, 0});
    return slot.born;
  });
}

Result<void> MemorySlots::made(const StockPlace& place, const std::string& made, const CallLimit&) {
  return step<void>("made", place, [&](MemorySlot& slot) -> Result<void> {
    if (slot.made == made) slot.making.clear();
    return {};
  });
}

Result<StockSlots::Marked> MemorySlots::mark_dropping(const StockPlace& place, const CallLimit&) {
  return step<Marked>("mark", place, [&](MemorySlot& slot) -> Result<Marked> {
    slot.dropping = true;
    return Marked{slot.made, slot.born};
  });
}

Result<void> MemorySlots::drop(const StockPlace& place, const std::string& made, const std::string&, const CallLimit&) {
  return step<void>("drop", place, [&](MemorySlot& slot) -> Result<void> {
    if (slot.made == made) slot = {};
    return {};
  });
}

Result<std::vector<LockName>> MemorySlots::names(const CallLimit&) { return std::vector<LockName>(); }

Result<SlotView> MemorySlots::read_state(const StockPlace& place, const CallLimit&) {
  return step<SlotView>("look", place, [&](MemorySlot& slot) -> Result<SlotView> {
    SlotView view;
    view.made = slot.made, view.born = slot.born, view.dropping = slot.dropping, view.making = slot.making;
    view.segments = slot.segments, view.created = slot.created, view.added = slot.added, view.taken = slot.taken;
    view.refunded = slot.refunded, view.open = static_cast<Quantity>(slot.until.size()), view.epoch = slot.epoch;
    view.levelling = slot.levelling, view.gains = slot.gains, view.places = slot.places;
    for (const auto& [attempt, held] : slot.held) {
      if (held.until <= world_.clock.now()) view.overdue.push_back({attempt, held.id});
    }
    for (const auto& [id, credit] : slot.credits) view.credits.push_back(credit);
    return view;
  });
}

Result<FencingToken> MemorySlots::token(const StockPlace& place, const CallLimit&) {
  return step<FencingToken>("token", place,
                            [&](MemorySlot&) -> Result<FencingToken> { return FencingToken(++world_.token); });
}

Result<std::optional<SlotAnswer>> MemorySlots::again(MemorySlot& slot, const SlotTake& take) {
  const std::string& id = take.request.id.text();
  const auto record = slot.records.find(id);
  const auto owner = Owner::parse(take.owner);
  auto said =
      answer_again(record == slot.records.end() ? nullptr : &record->second, take.request, owner ? &*owner : nullptr);
  if (!said) return said.error();
  if (!*said) return std::optional<SlotAnswer>();
  if (slot.until.count(id)) slot.until[id] = world_.clock.now() + take.ttl;
  return std::optional(SlotAnswer{std::move(**said), slot.attempts[id]});
}

Result<SlotAnswer> MemorySlots::deduct(MemorySlot& slot, int number, const SlotTake& take, const StockParts& parts,
                                       const std::string& attempt) {
  const std::string& id = take.request.id.text();
  const bool reserves = !take.owner.empty();
  for (const StockPart& part : mine(parts, number)) {
    at(slot, number, part.segment).quantity -= part.quantity;
    if (reserves) at(slot, number, part.segment).reserved += part.quantity;
    else slot.taken += part.quantity;
  }
  slot.records[id] = {reserves ? State::kReserved : State::kTaken, take.request.quantity, parts, take.owner, 0};
  slot.attempts[id] = attempt;
  if (reserves) slot.until[id] = world_.clock.now() + take.ttl;
  return SlotAnswer{StockTaken{parts, FencingToken(++world_.token), false}, attempt};
}

Result<SlotAnswer> MemorySlots::take(const StockPlace& place, const SlotTake& take, const CallLimit&) {
  return step<SlotAnswer>("take", place, [&](MemorySlot& slot) -> Result<SlotAnswer> {
    auto said = again(slot, take);
    if (!said) return said.error();
    if (*said) return std::move(**said);
    std::vector<Quantity> have;
    for (const StockSegment& one : slot.places) have.push_back(one.quantity);
    auto parts = choose_parts(have, take.start, take.request.quantity);
    if (!parts) return SlotAnswer{short_of(slot), ""};
    for (StockPart& part : *parts) part.segment = place.slot + part.segment * count();
    return deduct(slot, place.slot, take, *parts, "");
  });
}

std::vector<Result<StepAnswer>> MemorySlots::serve(const StockPlace& place, std::span<const StockStep> takes,
                                                   const CallLimit& limit) {
  std::vector<Result<StepAnswer>> answers;
  for (const StockStep& step : takes) {
    auto answer = take(place, {{place.stock, step.id, step.quantity.value_or(1)}, "", Duration(0), step.start}, limit);
    answers.push_back(answer ? Result<StepAnswer>(step_answer(std::move(answer->answer))) : answer.error());
  }
  return answers;
}

Result<SlotAnswer> MemorySlots::commit(const StockPlace& place, const SlotTake& take, const SlotAttempt& attempt,
                                       const CallLimit&) {
  return step<SlotAnswer>("commit", place, [&](MemorySlot& slot) -> Result<SlotAnswer> {
    auto said = again(slot, take);
    if (!said) return said.error();
    if (*said) return std::move(**said);
    const bool fits = attempt.made == slot.made && !slot.refused.count(attempt.id) &&
                      has(slot, place.slot, mine(attempt.parts, place.slot));
    if (!fits) return SlotAnswer{short_of(slot), ""};
    return deduct(slot, place.slot, take, attempt.parts, attempt.id);
  });
}

Result<AttemptFate> MemorySlots::ask_fate(const StockPlace& place, const SlotView::Held& held, const CallLimit&) {
  return step<AttemptFate>("fate", place, [&](MemorySlot& slot) -> Result<AttemptFate> {
    const auto attempt = slot.attempts.find(held.id);
    if (attempt != slot.attempts.end() && attempt->second == held.attempt) {
      const auto until = slot.until.find(held.id);
      if (until == slot.until.end()) return AttemptFate{AttemptFate::Kind::kCommitted};
      return AttemptFate{AttemptFate::Kind::kOpen, until->second - world_.clock.now()};
    }
    slot.refused.insert(held.attempt);
    return AttemptFate{AttemptFate::Kind::kRefused};
  });
}

Result<void> MemorySlots::extend(const StockRequest& request, int number, const Owner& owner, Duration ttl,
                                 const CallLimit&) {
  return step<void>("extend", {request.stock, number}, [&](MemorySlot& slot) -> Result<void> {
    const std::string& id = request.id.text();
    if (!slot.until.count(id) || slot.records[id].owner != owner.text()) {
      return reservation_over(request.stock, request.id);
    }
    slot.until[id] = world_.clock.now() + ttl;
    return {};
  });
}

Result<SlotParts> MemorySlots::confirm(const StockRequest& request, int number, const Owner& owner, const CallLimit&) {
  return step<SlotParts>("confirm", {request.stock, number}, [&](MemorySlot& slot) -> Result<SlotParts> {
    const std::string& id = request.id.text();
    const auto record = slot.records.find(id);
    const bool sold = record != slot.records.end() && is_sold_to(record->second, owner);
    if (!sold && (record == slot.records.end() || record->second.owner != owner.text())) {
      return reservation_over(request.stock, request.id);
    }
    if (slot.until.erase(id)) {
      record->second.state = State::kTaken;
      for (const StockPart& part : mine(record->second.parts, number)) {
        at(slot, number, part.segment).reserved -= part.quantity;
        slot.taken += part.quantity;
      }
    }
    return SlotParts{record->second.parts, slot.attempts[id]};
  });
}

Result<SlotParts> MemorySlots::cancel(const StockRequest& request, int number, const Owner& owner, const CallLimit&) {
  return step<SlotParts>("cancel", {request.stock, number}, [&](MemorySlot& slot) -> Result<SlotParts> {
    const std::string& id = request.id.text();
    const auto record = slot.records.find(id);
    if (record == slot.records.end()) return SlotParts{};
    if (record->second.state == State::kTaken) return sold_already(request.id);
    if (!slot.until.count(id) || record->second.owner != owner.text()) return SlotParts{};
    SlotParts back{slot.records[id].parts, slot.attempts[id]};
    give_back(slot, number, id);
    return back;
  });
}

Result<SlotChange> MemorySlots::refund(const StockPlace& place, const LockName& id, std::optional<Quantity> quantity,
                                       const CallLimit&) {
  return step<SlotChange>("refund", place, [&](MemorySlot& slot) -> Result<SlotChange> {
    const auto record = slot.records.find(id.text());
    auto plan = plan_refund(record == slot.records.end() ? nullptr : &record->second, id, quantity);
    if (!plan) return plan.error();
    PendingCredit credit{id.text(), PendingCredit::Book::kRefunded, {}};
    for (const StockPart& part : plan->back) {
      const int home = part.segment < slot.segments ? part.segment : part.segment % slot.segments;
      if (home % count() != place.slot) {
        credit.parts.push_back({home, part.quantity});
        continue;
      }
      at(slot, place.slot, home).quantity += part.quantity;
      slot.refunded += part.quantity;
      ++slot.gains;
    }
    slot.records[id.text()] = plan->record;
    if (!credit.parts.empty()) slot.credits[id.text()] = credit;
    if (slot.credits.count(id.text())) credit = slot.credits[id.text()];
    return SlotChange{plan->answer, credit, slot.made};
  });
}

Result<SlotChange> MemorySlots::add(const StockPlace& place, const LockName& id, Quantity quantity,
                                    const StockParts& parts, const CallLimit&) {
  return step<SlotChange>("add", place, [&](MemorySlot& slot) -> Result<SlotChange> {
    PendingCredit credit{id.text(), PendingCredit::Book::kAdded, {}};
    if (const auto before = slot.records.find(id.text()); before != slot.records.end()) {
      if (slot.credits.count(id.text())) credit = slot.credits[id.text()];
      return SlotChange{before->second.parts, credit, slot.made};
    }
    if (parts.empty()) return too_many_items(id, quantity);
    for (const StockPart& part : parts) {
      if (part.segment % count() != place.slot) {
        credit.parts.push_back(part);
        continue;
      }
      at(slot, place.slot, part.segment).quantity += part.quantity;
      slot.added += part.quantity;
      ++slot.gains;
    }
    slot.records[id.text()] = {State::kAdded, quantity, parts, "", 0};
    if (!credit.parts.empty()) slot.credits[id.text()] = credit;
    return SlotChange{parts, credit, slot.made};
  });
}

Result<void> MemorySlots::delivered(const StockPlace& place, const std::string& id, const CallLimit&) {
  return step<void>("delivered", place, [&](MemorySlot& slot) -> Result<void> {
    slot.credits.erase(id);
    return {};
  });
}

Result<bool> MemorySlots::hold(const StockPlace& place, const SlotAttempt& attempt, const LockName& id, Duration ttl,
                               const CallLimit&) {
  return step<bool>("hold", place, [&](MemorySlot& slot) -> Result<bool> {
    const StockParts parts = mine(attempt.parts, place.slot);
    if (attempt.made != slot.made || !has(slot, place.slot, parts)) return false;
    for (const StockPart& part : parts) {
      at(slot, place.slot, part.segment).quantity -= part.quantity;
      at(slot, place.slot, part.segment).reserved += part.quantity;
    }
    slot.held[attempt.id] = {world_.clock.now() + ttl, id.text(), parts};
    return true;
  });
}

Result<void> MemorySlots::end_hold(const StockPlace& place, const std::string& attempt, HeldEnd end, const CallLimit&) {
  const bool sold = end == HeldEnd::kConfirm;
  return step<void>(sold ? "sell" : "undo", place, [&](MemorySlot& slot) -> Result<void> {
    const auto held = slot.held.find(attempt);
    if (held == slot.held.end()) return {};
    for (const StockPart& part : held->second.parts) {
      at(slot, place.slot, part.segment).reserved -= part.quantity;
      if (sold) slot.taken += part.quantity;
      else at(slot, place.slot, part.segment).quantity += part.quantity, ++slot.gains;
    }
    slot.held.erase(held);
    return {};
  });
}

Result<void> MemorySlots::extend_hold(const StockPlace& place, const std::string& attempt, Duration ttl,
                                      const CallLimit&) {
  return step<void>("keep", place, [&](MemorySlot& slot) -> Result<void> {
    if (slot.held.count(attempt)) slot.held[attempt].until = world_.clock.now() + ttl;
    return {};
  });
}

Result<void> MemorySlots::deliver(const StockPlace& place, const PendingCredit& credit, const std::string& made,
                                  const CallLimit&) {
  return step<void>("deliver", place, [&](MemorySlot& slot) -> Result<void> {
    if (made != slot.made || !slot.delivered.insert(credit.id).second) return {};
    for (const StockPart& part : credit.parts) at(slot, place.slot, part.segment).quantity += part.quantity;
    (credit.book == PendingCredit::Book::kAdded ? slot.added : slot.refunded) += sum_of(credit.parts);
    ++slot.gains;
    return {};
  });
}

}  // namespace dlock::testing
