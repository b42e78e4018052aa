// SPDX-License-Identifier: Apache-2.0
// A slot as what rebalance and resize ask of it.
#include <algorithm>

#include "lib/stock/segment_plan.h"
#include "lib/stock/slot_plan.h"
#include "tests/support/memory_slots.h"

namespace dlock::testing {

Result<void> MemorySlots::level(const StockPlace& place, std::optional<int> segments, const CallLimit&) {
  return step<void>("level", place, [&](MemorySlot& slot) -> Result<void> {
    level_to(slot, place.slot, segments.value_or(slot.segments), slot.sum());
    return {};
  });
}

void MemorySlots::level_to(MemorySlot& slot, int number, int segments, Quantity sum) {
  const std::vector<StockSegment> before = slot.places;
  const auto size =
      static_cast<int>(share_of(std::vector<Quantity>(static_cast<std::size_t>(segments)), number, count()).size());
  const std::vector<Quantity> each = spread(sum, size);
  slot.places.assign(static_cast<std::size_t>(size), {});
  slot.segments = segments;
  for (std::size_t i = 0; i < before.size(); ++i) slot.places[i % each.size()].reserved += before[i].reserved;
  for (std::size_t i = 0; i < each.size(); ++i) slot.places[i].quantity = each[i];
}

Result<bool> MemorySlots::begin_levelling(const StockPlace& place, const Levelling& plan, const std::string& made,
                                          const CallLimit&) {
  return step<bool>("plan", place, [&](MemorySlot& slot) -> Result<bool> {
    if (made != slot.made || !slot.levelling.empty() || slot.epoch + 1 != plan.epoch) return false;
    if (slot.still > world_.clock.now()) return false;
    slot.levelling = levelling_text(plan);
    return true;
  });
}

Result<void> MemorySlots::end_levelling(const StockPlace& place, const Levelling& plan, const std::string& made,
                                        const CallLimit&) {
  return step<void>("planned", place, [&](MemorySlot& slot) -> Result<void> {
    if (made != slot.made || slot.levelling != levelling_text(plan)) return {};
    slot.levelling.clear();
    slot.epoch = plan.epoch;
    return {};
  });
}

Result<void> MemorySlots::keep_still(const StockPlace& place, Duration ttl, const CallLimit&) {
  return step<void>("still", place, [&](MemorySlot& slot) -> Result<void> {
    slot.still = world_.clock.now() + ttl;
    return {};
  });
}

Result<std::optional<StockSlots::Poured>> MemorySlots::pour_out(const StockPlace& place, const Levelling& plan,
                                                                const std::string& made, const CallLimit&) {
  return step<std::optional<Poured>>("out", place, [&](MemorySlot& slot) -> Result<std::optional<Poured>> {
    if (made != slot.made || slot.moved > plan.epoch) return std::optional<Poured>();
    if (slot.moved < plan.epoch) {
      const Quantity sum = slot.sum();
      slot.left = std::min(sum, plan.targets[static_cast<std::size_t>(place.slot)]);
      slot.out = sum - slot.left;
      slot.moved = plan.epoch;
      slot.poured = false;
      level_to(slot, place.slot, plan.segments, slot.left);
    }
    return std::optional(Poured{slot.out, slot.left});
  });
}

Result<void> MemorySlots::pour_in(const StockPlace& place, const Levelling& plan, Quantity quantity,
                                  const std::string& made, const CallLimit&) {
  return step<void>("in", place, [&](MemorySlot& slot) -> Result<void> {
    if (made != slot.made || slot.moved != plan.epoch || slot.poured) return {};
    slot.poured = true;
    ++slot.gains;
    level_to(slot, place.slot, slot.segments, slot.sum() + quantity);
    return {};
  });
}

}  // namespace dlock::testing
