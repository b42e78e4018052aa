// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/segment_plan.h"

#include <algorithm>
#include <numeric>

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

std::vector<Quantity> spread(Quantity quantity, int segments) {
  std::vector<Quantity> each(static_cast<std::size_t>(segments), quantity / segments);
  for (Quantity i = 0; i < quantity % segments; ++i) ++each[static_cast<std::size_t>(i)];
  return each;
}

StockParts fill_emptiest(const std::vector<Quantity>& have, Quantity quantity) {
  std::vector<std::size_t> order(have.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return have[a] < have[b]; });
  // The water level: the `count` emptiest are filled to the level of the next one, as long as there is enough for it.
  std::size_t count = 1;
  Quantity missing = 0;  // lifts the `count` emptiest to the level of the fullest of them
  while (count < order.size()) {
    const Quantity step = have[order[count]] - have[order[count - 1]];
    const auto lift = static_cast<Quantity>(count) * step;
    if (missing + lift > quantity) break;
    missing += lift;
    ++count;
  }
  const std::vector<Quantity> rest = spread(quantity - missing, static_cast<int>(count));
  const Quantity level = have[order[count - 1]];
  StockParts parts;
  for (std::size_t i = 0; i < count; ++i) {
    const Quantity more = level - have[order[i]] + rest[i];
    if (more > 0) parts.push_back({static_cast<int>(order[i]), more});
  }
  std::sort(parts.begin(), parts.end(), [](const StockPart& a, const StockPart& b) { return a.segment < b.segment; });
  return parts;
}

StockParts part_of(const StockParts& parts, Quantity skip, Quantity quantity) {
  StockParts found;
  for (const StockPart& part : parts) {
    const Quantity passed = std::min(skip, part.quantity);
    const Quantity some = std::min(quantity, part.quantity - passed);
    if (some > 0) found.push_back({part.segment, some});
    skip -= passed;
    quantity -= some;
  }
  return found;
}

}  // namespace dlock
