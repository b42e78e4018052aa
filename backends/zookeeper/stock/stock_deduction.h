// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/zookeeper/stock/stock_call.h"

namespace dlock::zookeeper {

/// A take, or (with an owner) a reservation: what a StockCall decides again for each try. One that was lost is followed
/// by one that begins with the next segment.
class Deduction {
 public:
  /// They have to outlive it. `owner` null: for good.
  Deduction(const StockRequest& request, const Owner* owner, std::int64_t ttl_ms, int start)
      : request_(request), owner_(owner), ttl_ms_(ttl_ms), start_(start) {}

  Result<Step> decide(StockCall& call);
  /// What is decided once it is known that the request is new, and which segments serve it.
  Result<Step> deduct(StockCall& call, StockParts parts);
  /// What the decision says that was carried out; without a token.
  const StockAnswer& answer() const { return answer_; }

 private:
  Result<Step> answer_again(StockCall& call, const SeenNote& seen, StockAnswer answer);
  Result<Step> look_everywhere(StockCall& call, int start);
  Result<Step> say_short(StockCall& call);

  const StockRequest& request_;
  const Owner* owner_;
  const std::int64_t ttl_ms_;
  const int start_;
  StockAnswer answer_ = StockInProgress{};
};

}  // namespace dlock::zookeeper
