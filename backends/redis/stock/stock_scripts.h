// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/redis/wire/reply.h"
#include "lib/base/time.h"
#include "lib/stock/stock.h"

namespace dlock::redis {

/// How long a request is remembered after its last change: longer than a client repeats it or refunds it.
inline constexpr Duration kKeepRequests = std::chrono::days(30);

// The arguments of a request's script, after its keys.

std::vector<std::string> take_words(const StockRequest& request, int start, const std::string& owner, Duration ttl);
std::vector<std::string> confirm_words(const LockName& id, const Owner& owner);
std::vector<std::string> refund_words(const StockRefund& refund);
std::vector<std::string> add_words(const LockName& id, Quantity quantity);

void append(Command& command, std::vector<std::string> words);

/// Where the quantity of a segment is kept.
enum class StockCounters {
  kHash,   ///< a field of one hash
  kPlain,  ///< a counter of its own that other programs can read: GET, INCRBY
  kTair,   ///< the same as a TairString: EXGET, EXINCRBY ... MIN 0
};

/// The text of `script`, one of stock_scripts except take_at_once_*, for StockCalls to send. Its KEYS are meta,
/// quantity, reserved, open, until, and the record of one request (meta again if there is none). A script makes its
/// whole decision, by the server's clock, before its first write, so that one that refuses or fails has changed
/// nothing. Scripts that give items back begin with a command that is allowed when memory is full. All answer {broken,
/// why} for data that make no sense, and all but create {none} if there is no stock.
std::string script_text(const char* script, StockCounters counters);

/// The text of the script for the most frequent kind of take (TakesAtOnce). Its KEYS are only
/// meta, quantity, open and the record of the request.
std::string take_at_once_text(StockCounters counters);

}  // namespace dlock::redis
