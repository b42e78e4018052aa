// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "lib/stock/quantity.h"

namespace dlock {

/// Where items go, all of it pure: the decisions of a stock that are not about taking (take_order.h).

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
