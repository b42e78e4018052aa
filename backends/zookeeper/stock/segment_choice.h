// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "backends/zookeeper/lock/rules.h"
#include "backends/zookeeper/stock/stock_call.h"

namespace dlock::zookeeper {

/// What a StockCall decides for somebody who wants a segment together with its lock: the first one that has enough and
/// whose lock nobody has or waits for, its lock taken by the transaction that reserves. The directory of the lock is
/// written too, unchanged, at the version at which it was empty: of two that come at once one fails.
class SegmentChoice {
 public:
  struct Wish {
    StockRequest request;
    int start = 0;
    std::int64_t ttl_ms = 0;
    const Owner* owner = nullptr;                   ///< to reserve for; null: only the lock is wanted
    std::function<std::string(int segment)> label;  ///< the data of the lock's nodes
  };

  /// They outlive it.
  SegmentChoice(const Wish& wish, StockSession& session, const CallLimit& limit, Errand& errand)
      : wish_(wish), session_(session), limit_(limit), errand_(errand) {}

  Result<Step> decide(StockCall& call);

  // Of the decision that was carried out:
  bool is_unsure() const { return unsure_; }  ///< it is not known whether it was
  /// Chosen, or to queue at; nullopt: no segment has enough alone, or there is another answer.
  std::optional<int> segment() const { return segment_; }
  bool is_free() const { return free_; }                                ///< its lock was free, and is taken
  const std::optional<StockAnswer>& answer() const { return answer_; }  ///< of the request
  const Stage& stage() const { return stage_; }                         ///< of the lock

 private:
  Result<Step> choose_among_all(StockCall& call);
  Result<Step> take(StockCall& call, int segment, const Answer& place);
  Result<Stage> stage_of(int segment) const;
  bool fits(const StockCall& call, int segment) const {
    return call.counts(segment).quantity >= wish_.request.quantity;
  }

  const Wish& wish_;
  StockSession& session_;
  const CallLimit& limit_;
  Errand& errand_;
  bool unsure_ = false;
  bool free_ = false;
  std::optional<int> segment_;
  std::optional<StockAnswer> answer_;
  Stage stage_;
};

}  // namespace dlock::zookeeper
