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

/// The three ways to deduct, where one segment has all of it and the request is new. What does not go through like that
/// is left to the transaction that locks all segments in their order.
///   guarded: UPDATE ... WHERE quantity>=q ORDER BY segment LIMIT 1, from `start` on; one round trip
///   pessimistic: SELECT ... FOR UPDATE SKIP LOCKED from `start` on, then UPDATE
///   optimistic: SELECT, then UPDATE ... WHERE version=what was read; a lost race begins anew, some times
class Deduction {
 public:
  /// `key`: of the stock. `segments`: how many it had; if it has another number now, this only begins elsewhere.
  /// `lock`: "", or an SQL expression that has to be 1 (StockInProgress otherwise); guarded deductions alone can wait
  /// for it.
  Deduction(Transaction& transaction, StockWay way, std::string key, int segments, std::string lock)
      : transaction_(transaction), way_(way), key_(std::move(key)), segments_(segments), lock_(std::move(lock)) {}

  /// As StockLedger::deduct_at_once().
  Result<std::optional<StockAnswer>> run(const StockRequest& request, const Owner* owner, Duration ttl, int start,
                                         const CallLimit& limit);

 private:
  /// One transaction. "segment>=3", "segment=5 AND version=12": in which rows it may look.
  using Where = std::string;
  Result<std::optional<StockAnswer>> try_in(const std::vector<Where>& places, const CallLimit& limit);
  std::optional<Where> choose(const std::vector<Where>& places);
  Result<std::optional<StockAnswer>> deduct(const Where& place);
  Result<std::optional<StockAnswer>> answer(const std::vector<Row>& rows) const;
  std::string fitting(const Where& place) const;

  Transaction& transaction_;
  const StockWay way_;
  const std::string key_;
  const int segments_;
  const std::string lock_;
  const StockRequest* request_ = nullptr;
  const Owner* owner_ = nullptr;
  Duration ttl_{0};
};

/// Statements that write down a new request. `record`: an expression.
std::string insert_request(const std::string& key, const LockName& id, const std::string& record);
std::string insert_reservation(const std::string& key, const LockName& id, Duration ttl);

/// `ttl` from now, by the server's clock.
std::string end_after(Duration ttl);

}  // namespace dlock::mysql
