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

std::string milliseconds(Duration d);

// The arguments of a request's script, after its keys.

std::vector<std::string> take_words(const StockRequest& request, int start, const std::string& owner, Duration ttl);
std::vector<std::string> confirm_words(const LockName& id, const Owner& owner);
std::vector<std::string> refund_words(const StockRefund& refund);
std::vector<std::string> add_words(const LockName& id, Quantity quantity);

void append(Command& command, std::vector<std::string> words);

}  // namespace dlock::redis
