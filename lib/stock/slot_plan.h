// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/lock/lock_name.h"
#include "lib/stock/quantity.h"
#include "lib/stock/stock.h"

namespace dlock {

/// Where the parts of a stock lie that is spread over several slots (places that decide for themselves, each in one
/// step): what follows from the numbers alone, all of it pure. Segment s lies in the slot s % slots. A slot without a
/// segment (there are fewer segments than slots) has one place of its own number, for what comes back to it; people see
/// that in the segment number % segments.

/// The home slot of a request: has its record and decides about it. The hash (FNV-1a, 32 bits) must never change.
int home_slot(const LockName& id, int slots);

/// Those of `parts` that lie in `slot`.
StockParts parts_in(const StockParts& parts, int slot, int slots);
/// The slots where `parts` lie, without `except`, in ascending order.
std::vector<int> slots_of(const StockParts& parts, int slots, int except);

/// The initial quantities of the places of `slot`: its share of `each`, which is by segment; a slot without a segment
/// has one place with 0.
std::vector<Quantity> share_of(const std::vector<Quantity>& each, int slot, int slots);

/// The segments of a stock as people see them, from the places of each slot.
std::vector<StockSegment> fold(const std::vector<std::vector<StockSegment>>& places, int segments);
/// The quantity that can be taken from each place, by its number; 0 for a number that no slot has.
std::vector<Quantity> by_number(const std::vector<std::vector<StockSegment>>& places);

/// One levelling: every slot gives what it has above its target, and then gets what it has below it. The plan is made
/// once and written down in the first slot, so that anybody can go on with it.
struct Levelling {
  Quantity epoch = 0;  ///< grows from plan to plan; a step of an earlier plan has no effect any more
  int segments = 1;    ///< the number of segments after it
  std::vector<Quantity> targets;
};
Levelling plan_levelling(Quantity epoch, Quantity total, int segments, int slots);
/// "7 20 50,50,30", and back (Invalid).
std::string levelling_text(const Levelling& plan);
Result<Levelling> parse_levelling(std::string_view text);

/// What each slot gets of `poured` out, given what it has `left`: to its target first, and what is too much, because
/// something came back meanwhile, goes to the first. REQUIRES: as many targets as left.
std::vector<Quantity> pour(const std::vector<Quantity>& targets, const std::vector<Quantity>& left, Quantity poured);

}  // namespace dlock
