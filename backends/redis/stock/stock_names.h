// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/redis/stock/stock_scripts.h"
#include "lib/lock/lock_name.h"

namespace dlock::redis {

/// The keys of a stock, all in one slot of a cluster. No two stocks share a key, nor do a stock and a lock.
struct StockNames {
  std::string meta;      ///< hash: made (by whom), segments, created, added, taken, refunded, token
  std::string quantity;  ///< hash: segment -> items to take; or the prefix of counters: ":SEGMENT" is appended
  std::string reserved;  ///< hash: segment -> items that are set aside
  std::string open;      ///< hash: request -> "OWNER QUANTITY SEGMENT:QUANTITY,..."; the reservations
  std::string until;     ///< zset: request -> end of the reservation, server ms
  std::string
      request;  ///< prefix, the request's id is appended. String: "MADE" and a record (lib/stock/request_record.h)
};

/// The stocks with these counters; stocks with others on the same server are invisible.
struct StockSpace {
  StockCounters counters = StockCounters::kHash;

  StockNames names(const LockName& stock) const;
  /// The stock that has this meta key; nullopt if it is none of these.
  std::optional<std::string> stock_of_meta(std::string_view key) const;
  /// A pattern for SCAN that matches the meta key of every stock, and maybe other keys.
  std::string meta_pattern() const;

  /// The same for the first slot of a stock that a dlock before 1.0.0 spread over several: "PREFIX
  /// SLOTS:{NAME|0.SALT}".
  std::string spread_pattern(const LockName& stock) const;
  std::optional<std::string> stock_of_spread_meta(std::string_view key) const;
};

}  // namespace dlock::redis
