// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/stock/stock_answer.h"

#include <algorithm>

namespace dlock::redis {

Result<SlotParts> parse_slot_parts(std::string_view text) {
  const std::size_t at = text.find('@');
  SlotParts all;
  if (at != std::string_view::npos) all.attempt = text.substr(at + 1);
  text = text.substr(0, at);
  if (text.empty() || text == "-") return all;
  auto parts = parse_parts(text, ',');
  if (!parts) return parts.error();
  all.parts = std::move(*parts);
  return all;
}

Result<PendingCredit> parse_credit(std::string id, const std::string& text) {
  PendingCredit credit{std::move(id), PendingCredit::Book::kRefunded, {}};
  if (text == "-") return credit;
  auto parts = parse_parts(std::string_view(text).substr(std::min<std::size_t>(2, text.size())), ',');
  if (!parts) return parts.error();
  credit.book = text.starts_with('a') ? PendingCredit::Book::kAdded : PendingCredit::Book::kRefunded;
  credit.parts = std::move(*parts);
  return credit;
}

}  // namespace dlock::redis
