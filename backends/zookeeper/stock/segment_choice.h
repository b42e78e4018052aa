// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "backends/zookeeper/lock/rules.h"
#include "backends/zookeeper/stock/stock_call.h"

namespace dlock::zookeeper {

/// Decides, in a StockCall, for a request that wants a segment together with its lock: chooses the first segment that
/// has enough and whose lock nobody holds or waits for; the transaction that reserves also takes that lock. It writes
/// the unchanged data of the lock's directory, too, at the version at which that was empty: of two at once, one fails.
class SegmentChoice {
 public:
  struct Wish {
    StockRequest request;
    int start = 0;
    std::int64_t ttl_ms = 0;
    const Owner* owner = nullptr;                   ///< to reserve for; null: only the lock is wanted
    std::function<std::string(int segment)> label;  ///< the data of the lock's nodes
  };

  /// All arguments outlive it.
  SegmentChoice(const Wish& wish, StockSession& session, const CallLimit& limit, Errand& errand)
      : wish_(wish), session_(session), limit_(limit), errand_(errand) {}

  Result<Step> decide(StockCall& call);

  // After StockCall::run(), of the decision that was carried out:
  bool is_unsure() const { return unsure_; }  ///< it is not known whether it was carried out
  /// The chosen segment, or the one at whose lock to queue; nullopt: no segment alone has enough, or answer() is set.
  std::optional<int> segment() const { return segment_; }
  bool is_free() const { return free_; }  ///< the lock of segment() was free, and is taken
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
