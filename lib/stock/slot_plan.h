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

/// The slot with the record of a request: there is the decision about it. The same for ever (FNV-1a, 32 bits).
int home_slot(const LockName& id, int slots);

/// Those of `parts` that lie in `slot`.
StockParts parts_in(const StockParts& parts, int slot, int slots);
/// The slots where `parts` lie, less `except`, in their order.
std::vector<int> slots_of(const StockParts& parts, int slots, int except);

/// What the places of `slot` begin with: its share of `each`, by segment; one place with 0 if it has no segment.
std::vector<Quantity> share_of(const std::vector<Quantity>& each, int slot, int slots);

/// The segments of a stock as people see them, from the places of each slot.
std::vector<StockSegment> fold(const std::vector<std::vector<StockSegment>>& places, int segments);
/// What can be taken, by the number of the place: those that no slot has are 0.
std::vector<Quantity> by_number(const std::vector<std::vector<StockSegment>>& places);

/// One levelling: every slot gives what it has above its target, and then gets what it has below it. The plan is made
/// once and written down in the first slot, so that anybody can go on with it.
struct Levelling {
  Quantity epoch = 0;  ///< one after the other; a step of an earlier one changes nothing any more
  int segments = 1;    ///< from then on
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
