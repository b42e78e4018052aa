// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/redis/wire/reply.h"
#include "lib/stock/stock_slots.h"

namespace dlock::redis {

/// "SEGMENT:QUANTITY,...@ATTEMPT", "-" for no parts; Invalid.
Result<SlotParts> parse_slot_parts(std::string_view text);
/// "BOOK SEGMENT:QUANTITY,...", "-" for nothing; Invalid.
Result<PendingCredit> parse_credit(std::string id, const std::string& text);

/// The answer of a stock's script: its first word, and texts or lists. REQUIRES: an array with an element.
class StockReply {
 public:
  explicit StockReply(Reply reply) : reply_(std::move(reply)) {}
  bool is(std::string_view word) const { return reply_.elements[0].text == word; }
  bool has(std::string_view word, std::size_t texts) const { return is(word) && reply_.elements.size() == texts + 1; }
  const std::vector<Reply>& list(std::size_t i) const { return reply_.elements[i].elements; }
  std::string text(std::size_t i) const { return i < reply_.elements.size() ? reply_.elements[i].text : std::string(); }
  Quantity quantity(std::size_t i) const {
    const auto number = parse_quantity(text(i), 0);
    return number ? *number : 0;
  }

 private:
  Reply reply_;
};

}  // namespace dlock::redis
