// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "lib/stock/quantity.h"

namespace dlock {

/// Which segments serve a request for `quantity`, given what each has; pure. From the segment `start` on (modulo their
/// number) the first that has all of it. If none has, it is gathered from several, the fullest first, so that the parts
/// are few; equally full ones in the order from `start` on. nullopt: all together have too little. REQUIRES: at least
/// one segment, start >= 0, quantity >= 1.
std::optional<StockParts> choose_parts(const std::vector<Quantity>& have, int start, Quantity quantity);

/// The same when only `segment` may serve it.
std::optional<StockParts> choose_from(const std::vector<Quantity>& have, int segment, Quantity quantity);

}  // namespace dlock
