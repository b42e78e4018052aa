// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/mysql/connection/settings.h"
#include "backends/mysql/stock/transaction.h"
#include "lib/lock/owner.h"
#include "lib/stock/stock.h"

namespace dlock::mysql {

/// A lock that is waited for in the batch of a deduction, as SQL expressions.
struct LockFirst {
  std::string lock = {};        ///< has to be 1; empty: none
  std::string afterwards = {};  ///< evaluated behind it, whatever it is
};

/// The three ways to deduct, where one segment has all of it and the request is new. What does not go through like that
/// is left to the transaction that locks all segments in their order.
///   guarded: UPDATE ... WHERE quantity>=q of segment `start`, one round trip; if that is short, of one that a look
///   finds pessimistic: SELECT ... FOR UPDATE SKIP LOCKED from `start` on, then UPDATE optimistic: SELECT, then UPDATE
///   ... WHERE version=what was read
/// A lost race begins anew, some times.
class Deduction {
 public:
  /// `key`: of the stock. `segments`: how many it had; if it has another number now, this only begins elsewhere.
  /// `first`: guarded deductions of one segment alone can wait for a lock.
  Deduction(Transaction& transaction, StockWay way, std::string key, int segments, LockFirst first)
      : transaction_(transaction), way_(way), key_(std::move(key)), segments_(segments), first_(std::move(first)) {}

  /// As StockLedger::deduct_at_once().
  Result<std::optional<StockAnswer>> run(const StockRequest& request, const Owner* owner, Duration ttl, int start,
                                         const CallLimit& limit);

 private:
  /// A segment, and what else has to be true of its row (" AND version=12").
  struct Place {
    int segment = 0;
    std::string condition;
  };
  /// Each is one transaction; nullopt: no segment has enough, or this one has not.
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
