// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/redis/wire/reply.h"
#include "lib/base/time.h"
#include "lib/stock/stock.h"

namespace dlock::redis {

/// How long a request is remembered after it was last heard of: longer than anybody sends it again, or gives back.
inline constexpr Duration kKeepRequests = std::chrono::days(30);

std::string milliseconds(Duration d);

// What stands behind the keys of a request's script.

std::vector<std::string> take_words(const StockRequest& request, int start, const std::string& owner, Duration ttl);
std::vector<std::string> confirm_words(const LockName& id, const Owner& owner);
std::vector<std::string> refund_words(const LockName& id, std::optional<Quantity> quantity);
/// `parts` empty: to the emptiest.
std::vector<std::string> add_words(const LockName& id, Quantity quantity, const StockParts& parts);

void append(Command& command, std::vector<std::string> words);

}  // namespace dlock::redis
