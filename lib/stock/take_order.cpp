// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/take_order.h"

#include <algorithm>

namespace dlock {

std::optional<StockParts> choose_parts(const std::vector<Quantity>& have, int start, Quantity quantity) {
  const std::size_t count = have.size();
  std::vector<std::size_t> order(count);
  Quantity sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    order[i] = (static_cast<std::size_t>(start) + i) % count;
    const Quantity here = have[order[i]];
    if (here >= quantity) return StockParts{{static_cast<int>(order[i]), quantity}};
    sum += here;
  }
  if (sum < quantity) return std::nullopt;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return have[a] > have[b]; });
  StockParts parts;
  for (const std::size_t segment : order) {
    if (quantity == 0) break;
    const Quantity some = std::min(quantity, have[segment]);
    parts.push_back({static_cast<int>(segment), some});
    quantity -= some;
  }
  return parts;
}

std::optional<StockParts> choose_from(const std::vector<Quantity>& have, int segment, Quantity quantity) {
  const auto index = static_cast<std::size_t>(segment);
  if (segment < 0 || index >= have.size() || have[index] < quantity) return std::nullopt;
  return StockParts{{segment, quantity}};
}

}  // namespace dlock
