// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/quantity.h"

#include <charconv>

namespace dlock {
namespace {

constexpr int kMostSegmentNumber = 999'999;

/// A whole number without a sign that fills `text`.
bool read_number(std::string_view text, std::int64_t& number) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return false;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<Quantity> parse_quantity(std::string_view text, Quantity least) {
  Quantity quantity = 0;
  if (read_number(text, quantity) && quantity >= least && quantity <= kMostItems) return quantity;
  return Error{ErrorCode::kInvalid, "'" + std::string(text.substr(0, 40)) + "' is no quantity",
               "a quantity is a whole number from " + std::to_string(least) + " to " + std::to_string(kMostItems)};
}

std::string parts_text(const StockParts& parts, char between) {
  std::string text;
  for (const StockPart& part : parts) {
    if (!text.empty()) text += between;
    text += std::to_string(part.segment) + ":" + std::to_string(part.quantity);
  }
  return text;
}

Result<StockParts> parse_parts(std::string_view text, char between) {
  StockParts parts;
  const Error broken{ErrorCode::kInvalid, "'" + std::string(text.substr(0, 80)) + "' does not list parts of a stock"};
  while (!text.empty()) {
    const std::size_t end = text.find(between);
    const std::string_view one = text.substr(0, end);
    const std::size_t colon = one.find(':');
    std::int64_t segment = 0;
    std::int64_t quantity = 0;
    const bool whole = colon != std::string_view::npos && read_number(one.substr(0, colon), segment) &&
                       read_number(one.substr(colon + 1), quantity);
    if (!whole || segment > kMostSegmentNumber || quantity < 1 || quantity > kMostItems) return broken;
    parts.push_back({static_cast<int>(segment), quantity});
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
    if (text.empty()) return broken;
  }
  return parts;
}

Quantity sum_of(const StockParts& parts) {
  Quantity sum = 0;
  for (const StockPart& part : parts) sum += part.quantity;
  return sum;
}

}  // namespace dlock
