// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/redis/stock/stock_scripts.h"
#include "lib/lock/lock_name.h"

namespace dlock::redis {

/// The keys of a stock's part in one slot of a cluster. No two stocks share a key, nor do a stock and a lock.
struct StockNames {
  std::string meta;  ///< hash: made (by whom), segments, created, added, taken, refunded, token, and of several slots
  std::string quantity;   ///< hash: segment -> items to take; or the prefix of counters: ":SEGMENT" is appended
  std::string reserved;   ///< hash: segment -> items that are set aside
  std::string open;       ///< hash: request -> "OWNER QUANTITY SEGMENT:QUANTITY,..."; the reservations
  std::string until;      ///< zset: request -> end of the reservation, server ms
  std::string request;    ///< prefix, the request's id is appended. String: "MADE STATE QUANTITY PARTS OWNER REFUNDED"
  std::string held;       ///< hash: attempt -> "END SEGMENT:QUANTITY,... REQUEST": parts for requests of other slots
  std::string credits;    ///< hash: request -> "BOOK SEGMENT:QUANTITY,...": pending credits of other slots
  std::string refused;    ///< zset: attempt -> until when it is known that it must not be committed any more
  std::string delivered;  ///< prefix, the request's id is appended. String: MADE, if its credit was delivered here
};

/// The stocks with these settings; stocks with other settings on the same server are invisible.
struct StockSpace {
  StockCounters counters = StockCounters::kHash;
  int slots = 1;

  /// The keys of `stock` in `slot`, 0 to slots - 1.
  StockNames names(const LockName& stock, int slot) const;
  /// The stock whose first slot has this meta key; nullopt if it is none of these.
  std::optional<std::string> stock_of_meta(std::string_view key) const;
  /// A pattern for SCAN that matches the meta key of the first slot of every stock, and maybe other keys.
  std::string meta_pattern() const;
};

}  // namespace dlock::redis
