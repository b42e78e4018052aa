// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/zookeeper/stock/stock_call.h"

namespace dlock::zookeeper {

/// Decides a take, or with an owner a reservation, anew for each try of a StockCall. After a lost try it begins with
/// the next segment.
class Deduction {
 public:
  /// `request` and `owner` outlive it. `owner` null: a take for good. `start`: the segment to begin with.
  Deduction(const StockRequest& request, const Owner* owner, std::int64_t ttl_ms, int start)
      : request_(request), owner_(owner), ttl_ms_(ttl_ms), start_(start) {}

  Result<Step> decide(StockCall& call);
  /// Collects the changes for `parts`. REQUIRES: the request is new, and the segments of `parts` have enough.
  Result<Step> deduct(StockCall& call, StockParts parts);
  /// After StockCall::run(): the answer of the decision that was carried out, without its token.
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
