// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "lib/lock/lock_name.h"
#include "lib/stock/request_record.h"
#include "lib/stock/stock.h"

namespace dlock::zookeeper {

/// The nodes of stocks below the URL's path; the data of each is one line of text. A stock that is dropped and made
/// again gets another LIFE, so that no version of an old node can be taken for one of a new node.
///
///   %stock/NAME                          StockHead
///   %stock-data/LIFE                     the stock's name
///                   /segments/0 ...      StockCounts
///                   /open/ID             nothing: a reservation, to be found without looking at all requests
///                   /requests/HH/ID      StockNote; HH: two hex digits of a hash, so that no directory becomes too
///                   long

/// The purposes for own_directory() in zookeeper/lock/names.h.
inline constexpr char kStocks[] = "stock";
inline constexpr char kStockData[] = "stock-data";
/// Directories below %stock-data/LIFE.
inline constexpr char kSegments[] = "/segments";
inline constexpr char kOpen[] = "/open";
inline constexpr char kRequests[] = "/requests";
inline constexpr int kRequestDirectories = 256;

std::string stock_path(const std::string& root, const LockName& name);
std::string life_path(const std::string& root, const std::string& life);
std::string segment_path(const std::string& life, int segment);
std::string open_path(const std::string& life, const LockName& id);
/// Directory `number` of requests.
std::string requests_path(const std::string& life, int number);
std::string request_path(const std::string& life, const LockName& id);

/// The data of %stock/NAME. Every change of the stock checks the version of that node, which changes with the number of
/// segments and with the gate.
struct StockHead {
  std::string life;
  int segments = 0;
  Quantity created = 0;
  std::string maker;
  std::string gate;  ///< the call that makes all others wait (StockCall); empty: none
};

/// One segment: the items that it has, and the totals of what became of others.
struct StockCounts {
  Quantity quantity = 0;
  Quantity reserved = 0;
  Quantity taken = 0;
  Quantity refunded = 0;
  Quantity added = 0;

  StockCounts& operator+=(const StockCounts& more);
};

/// Record of a request.
struct StockNote {
  RequestRecord record;
  std::int64_t ttl_ms = 0;  ///< of a reservation, from the node's mtime on
};

/// "1 LIFE SEGMENTS CREATED MAKER GATE", "QUANTITY RESERVED TAKEN REFUNDED ADDED", "TTL RECORD"; and back (Invalid).
std::string head_text(const StockHead& head);
std::string counts_text(const StockCounts& counts);
std::string note_text(const StockNote& note);
Result<StockHead> parse_head(std::string_view text);
Result<StockCounts> parse_counts(std::string_view text);
Result<StockNote> parse_note(std::string_view text);

}  // namespace dlock::zookeeper
