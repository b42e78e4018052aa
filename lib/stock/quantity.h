// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/json_writer.h"
#include "lib/base/result.h"

namespace dlock {

/// A number of items. Never negative where it is a stock's; up to kMostItems, which a double holds exactly (Redis
/// counts with doubles inside its scripts).
using Quantity = std::int64_t;
inline constexpr Quantity kMostItems = Quantity{1} << 53;

/// Invalid unless `text` is a whole number from `least` to kMostItems, without sign or blanks.
Result<Quantity> parse_quantity(std::string_view text, Quantity least = 1);

/// A number of items of one segment.
struct StockPart {
  int segment = 0;
  Quantity quantity = 0;
  bool operator==(const StockPart&) const = default;
};
using StockParts = std::vector<StockPart>;

/// "3:2 0:1": segment and quantity of each part, in their order. parse_parts() reads it; Invalid for another form.
std::string parts_text(const StockParts& parts, char between = ' ');
Result<StockParts> parse_parts(std::string_view text, char between = ' ');
Quantity sum_of(const StockParts& parts);
/// Of one number of all segments, however much of these is known.
template <typename Segment>
Quantity sum_of(const std::vector<Segment>& segments, Quantity Segment::*number) {
  Quantity sum = 0;
  for (const Segment& one : segments) sum += one.*number;
  return sum;
}
/// As "parts": [{"segment": 3, "qty": 2}].
void put_parts(JsonWriter& json, const StockParts& parts);

}  // namespace dlock
