// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/lock/lock_name.h"

namespace dlock::redis {

/// Where a stock lies on the server: all of it in one slot of a cluster, no two stocks on one key, and nothing of a
/// lock there.
struct StockNames {
  std::string meta;      ///< hash: made (by whom), segments, created, added, taken, refunded, token
  std::string quantity;  ///< hash: segment -> what can be taken
  std::string reserved;  ///< hash: segment -> what is set aside
  std::string open;      ///< hash: request -> "OWNER QUANTITY SEGMENT:QUANTITY,..."; the reservations
  std::string until;     ///< zset: request -> end of the reservation, server ms
  std::string request;   ///< less the request's id. String: "MADE STATE QUANTITY PARTS OWNER REFUNDED"
};
StockNames stock_names(const LockName& name);

/// The stock whose meta key this is; nullopt if it is none.
std::optional<std::string> stock_of_meta(std::string_view key);

/// Matches the meta key of every stock, and maybe more.
inline constexpr char kStockMetaPattern[] = "dlock:stock:{*}:meta";

}  // namespace dlock::redis
