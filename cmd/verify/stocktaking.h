// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/verify/checks.h"
#include "cmd/verify/sandbox.h"
#include "lib/base/clock.h"

namespace dlock {

/// How many items the stock has: so few that it is sold out long before the end, because workers compete for the last
/// ones.
inline constexpr std::int64_t kVerifyStock = 60;

/// Creates the stock of the workers, after dropping the one of an earlier run. Unsupported if the store has no stocks.
Result<void> make_stock(const Sandbox& sandbox);

/// How many items the run of this section buys: 1 to 3, always the same for the same name.
std::int64_t quantity_of(std::string_view section);

/// A dlock command line that sells to this section, from "stock run" to the stock, without "--" and the command.
std::vector<std::string> selling_words(const std::string& section, const std::string& url, Duration ttl);

/// The books of a stock, as `dlock stock show --json` prints them.
struct StockBooks {
  std::int64_t total = 0;
  std::int64_t reserved = 0;
  std::int64_t open = 0;
  std::int64_t taken = 0;
  std::int64_t refunded = 0;
};
std::optional<StockBooks> parse_books(std::string_view json);

/// When all workers have ended: waits until nothing is set aside any more, then refunds every sale. No more was sold
/// than there was, the books balance and know every sale, and at the end all items are there again.
Judgement take_stock(const VerifyHistory& history, const Sandbox& sandbox, Duration ttl, Clock& clock);

}  // namespace dlock
