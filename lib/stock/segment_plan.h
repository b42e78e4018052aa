// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "lib/stock/quantity.h"

namespace dlock {

/// Decisions of a stock about its segments, all of it pure.

/// Which segments serve a request for `quantity`, given what each has; pure. From the segment `start` on (modulo their
/// number) the first that has all of it. If none has, it is gathered from several, the fullest first, so that the parts
/// are few; equally full ones in the order from `start` on. nullopt: all together have too little. REQUIRES: at least
/// one segment, start >= 0, quantity >= 1.
std::optional<StockParts> choose_parts(const std::vector<Quantity>& have, int start, Quantity quantity);

/// `quantity` over `segments`, as evenly as it goes; the first ones have one more: 10 over 3 is 4, 3, 3. REQUIRES:
/// segments >= 1.
std::vector<Quantity> spread(Quantity quantity, int segments);

/// Which segments get how much of `quantity`, the emptiest first and only as much as makes them level. `have` is what
/// each has now; the parts are in the order of the segments.
StockParts fill_emptiest(const std::vector<Quantity>& have, Quantity quantity);

/// `quantity` of what was taken, after the first `skip` of it: what a refund gives back. REQUIRES: parts have so much.
StockParts part_of(const StockParts& parts, Quantity skip, Quantity quantity);

/// Where an item of `segment` belongs when there are `segments` now: a stock that was resized has lost some.
constexpr int home_of(int segment, int segments) { return segment < segments ? segment : segment % segments; }

}  // namespace dlock
