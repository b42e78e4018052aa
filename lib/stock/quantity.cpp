// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/quantity.h"

#include <algorithm>

#include "lib/base/text.h"

namespace dlock {
namespace {

constexpr std::uint32_t kMostSegmentNumber = 999'999;

}  // namespace

Result<Quantity> parse_quantity(std::string_view text, Quantity least) {
  const auto number = whole_number<std::uint64_t>(text);
  const auto quantity = static_cast<Quantity>(std::min<std::uint64_t>(number.value_or(0), kMostItems));
  if (number && *number <= kMostItems && quantity >= least) return quantity;
  return Error{ErrorCode::kInvalid, "'" + std::string(utf8_prefix(text, 40)) + "' is not a quantity",
               "a quantity is a whole number from " + std::to_string(least) + " to " + std::to_string(kMostItems)};
}

std::string parts_text(const StockParts& parts, char between) {
  std::string text;
  for (const StockPart& part : parts) {
    if (!text.empty()) text += between;
    text.append(std::to_string(part.segment)).append(1, ':').append(std::to_string(part.quantity));
  }
  return text;
}

Result<StockParts> parse_parts(std::string_view text, char between) {
  StockParts parts;
  std::string_view rest = text;
  for (bool more = !rest.empty(); more;) {
    more = rest.find(between) != std::string_view::npos;
    std::string_view one = cut(rest, between);
    const auto segment = whole_number<std::uint32_t>(cut(one, ':'));
    const auto quantity = parse_quantity(one, 1);
    if (!segment || *segment > kMostSegmentNumber || !quantity) {
      return Error{ErrorCode::kInvalid, "'" + std::string(utf8_prefix(text, 80)) + "' does not list parts of a stock"};
    }
    parts.push_back({static_cast<int>(*segment), *quantity});
  }
  return parts;
}

Quantity sum_of(const StockParts& parts) {
  Quantity sum = 0;
  for (const StockPart& part : parts) sum += part.quantity;
  return sum;
}

void put_parts(JsonWriter& json, const StockParts& parts) {
  json.list("parts", parts, [&](const StockPart& part) {
    json.begin_object().field("segment", part.segment).field("qty", part.quantity).end_object();
  });
}

}  // namespace dlock
