// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/stock/stock_slots.h"

namespace dlock::redis {

/// Which takes are tried as most are, by a script that knows no others (take_at_once_*.lua). What it refuses takes a
/// second request, so a slot is only asked that way when its last take was one of these: not when it is out of stock,
/// or has something set aside. Knows the slots of one stock at a time.
class TakesAtOnce {
 public:
  /// A stock of `slots` slots.
  explicit TakesAtOnce(int slots) : segments_(static_cast<std::size_t>(slots)) {}

  /// Where the take begins; nullopt: it is for the script that knows all takes.
  std::optional<int> segment(const StockPlace& place, const SlotTake& take) const;
  /// How many segments the stock was found to have by such a take, 0: it was none.
  void note(const StockPlace& place, int segments);
  int segments(const StockPlace& place) const { return segments_[static_cast<std::size_t>(place.slot)]; }

 private:
  std::string stock_;
  std::vector<int> segments_;  ///< by slot
};

}  // namespace dlock::redis
