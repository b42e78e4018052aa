// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/redis/stock/stock_scripts.h"
#include "lib/lock/lock_name.h"

namespace dlock::redis {

/// Where a stock lies on the server: all of one place in one slot of a cluster, no two stocks on one key, and nothing
/// of a lock there.
struct StockNames {
  std::string meta;  ///< hash: made (by whom), segments, created, added, taken, refunded, token, and of several slots
  std::string quantity;   ///< hash: segment -> what can be taken; or less ":SEGMENT": the counter
  std::string reserved;   ///< hash: segment -> what is set aside
  std::string open;       ///< hash: request -> "OWNER QUANTITY SEGMENT:QUANTITY,..."; the reservations
  std::string until;      ///< zset: request -> end of the reservation, server ms
  std::string request;    ///< less the request's id. String: "MADE STATE QUANTITY PARTS OWNER REFUNDED"
  std::string held;       ///< hash: attempt -> "END SEGMENT:QUANTITY,... REQUEST": parts for requests of other slots
  std::string credits;    ///< hash: request -> "BOOK SEGMENT:QUANTITY,...": pending credits of other slots
  std::string refused;    ///< zset: attempt -> until when it is known that it must not be committed any more
  std::string delivered;  ///< less the request's id. String: MADE, if it was delivered here
};

/// The stocks of one kind: others on the same server are not seen.
struct StockSpace {
  StockCounters counters = StockCounters::kHash;
  int slots = 1;

  /// The first is as good as any where there is one.
  StockNames names(const LockName& stock, int slot) const;
  /// The stock whose first slot has this meta key; nullopt if it is none of these.
  std::optional<std::string> stock_of_meta(std::string_view key) const;
  /// Matches the meta key of the first slot of every stock, and maybe more.
  std::string meta_pattern() const;
};

}  // namespace dlock::redis
