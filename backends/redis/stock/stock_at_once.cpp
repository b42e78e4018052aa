// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/stock/stock_at_once.h"

#include <algorithm>

namespace dlock::redis {

std::optional<int> TakesAtOnce::segment(const StockPlace& place, const SlotTake& take) const {
  if (!take.owner.empty() || take.request.only_segment || take.request.quantity < 1 || take.start < 0) return {};
  const int all = place.stock.text() == stock_ ? segments(place) : 0;
  if (all == 0) return {};
  const int slots = static_cast<int>(segments_.size());
  const int here = all > place.slot ? (all - 1 - place.slot) / slots + 1 : 1;
  return place.slot + take.start % here * slots;
}

void TakesAtOnce::note(const StockPlace& place, int segments) {
  if (place.stock.text() != stock_) {
    stock_ = place.stock.text();
    std::fill(segments_.begin(), segments_.end(), 0);
  }
  segments_[static_cast<std::size_t>(place.slot)] = segments;
}

}  // namespace dlock::redis
