// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/stock/stock_at_once.h"

namespace dlock::redis {

std::optional<int> TakesAtOnce::segment(const StockRequest& request, int start) const {
  if (request.only_segment || request.quantity < 1 || start < 0) return std::nullopt;
  if (segments_ == 0 || request.stock.text() != stock_) return std::nullopt;
  return start % segments_;
}

void TakesAtOnce::note(const LockName& stock, int segments) {
  stock_ = stock.text();
  segments_ = segments;
}

}  // namespace dlock::redis
