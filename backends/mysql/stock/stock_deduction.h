// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "backends/mysql/connection/settings.h"
#include "backends/mysql/stock/transaction.h"
#include "lib/lock/owner.h"
#include "lib/stock/stock.h"

namespace dlock::mysql {

/// A lock to wait for at the beginning of a deduction's batch, as SQL expressions.
struct LockFirst {
  std::string lock = {};        ///< takes the lock; 1: it is ours; empty: no lock is wanted
  std::string afterwards = {};  ///< evaluated after `lock`, whatever its value
};

/// The three ways to deduct all items of a new request from one segment. All other requests are left to the transaction
/// that locks all segments in their order.
///
///   guarded      UPDATE ... WHERE quantity>=q of segment `start`, in one round trip; if that has too few, of
///                a segment that a SELECT has found
///   pessimistic  SELECT ... FOR UPDATE SKIP LOCKED from `start` on, then UPDATE
///   optimistic   SELECT, then UPDATE ... WHERE version=the one that was read
///
/// A lost race is repeated a few times. Single-threaded.
class Deduction {
 public:
  /// `key`: of the stock. `segments`: how many it had last; an old number only changes where the search begins.
  /// `first`: a lock to wait for; only for StockWay::kGuarded.
  Deduction(Transaction& transaction, StockWay way, std::string key, int segments, LockFirst first)
      : transaction_(transaction), way_(way), key_(std::move(key)), segments_(segments), first_(std::move(first)) {}

  /// As StockLedger::deduct_at_once().
  Result<std::optional<StockAnswer>> run(const StockRequest& request, const Owner* owner, Duration ttl, int start,
                                         const CallLimit& limit);

 private:
  /// A segment, and a further condition on its row (" AND version=12").
  struct Place {
    int segment = 0;
    std::string condition;
  };
  // Each is one transaction; nullopt: no segment has enough, or not the one of `place`.
  Result<std::optional<StockAnswer>> look_and_deduct(int start, const CallLimit& limit);
  Result<std::optional<StockAnswer>> deduct_at(const Place& place, const CallLimit& limit);

  std::optional<Place> choose(int start);
  Result<std::optional<StockAnswer>> deduct(const Place& place);

  Transaction& transaction_;
  const StockWay way_;
  const std::string key_;
  const int segments_;
  const LockFirst first_;
  const StockRequest* request_ = nullptr;
  const Owner* owner_ = nullptr;
  Duration ttl_{0};
};

}  // namespace dlock::mysql
