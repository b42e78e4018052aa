// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/verify/checks.h"
#include "cmd/verify/lab.h"
#include "lib/base/clock.h"

namespace dlock {

/// So few that it is sold out long before the end: the last ones are what workers fight for.
inline constexpr std::int64_t kVerifyStock = 60;

/// Makes the stock of the workers anew. Unsupported if the store has none.
Result<void> make_stock(const Lab& lab);

/// What a worker buys, by its section: 1 to 3 items.
std::int64_t quantity_of(std::string_view section);

/// The options of a run that sells from it, from "stock" to its name.
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

/// Takes stock when all workers are gone: waits until nothing is set aside any more, then gives back every sale. No
/// more was sold than there was, the books balance, each sale that a worker was told of is in them, and in the end all
/// is there again.
Judgement take_stock(const Chronicle& chronicle, const Lab& lab, Duration ttl, Clock& clock);

}  // namespace dlock
