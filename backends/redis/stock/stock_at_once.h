// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/stock/stock_slots.h"

namespace dlock::redis {

/// Decides which takes are tried by the short script for the most frequent kind (take_at_once_*.lua: for good, out of
/// one segment, nothing set aside). A take that this script refuses costs a second request, so it is used for a slot
/// only if the slot's last take was of that kind: not when it is out of stock, or has something set aside. Remembers
/// the slots of one stock at a time.
class TakesAtOnce {
 public:
  /// A stock of `slots` slots.
  explicit TakesAtOnce(int slots) : segments_(static_cast<std::size_t>(slots)) {}

  /// The segment for the short script; nullopt: send take.lua, which serves every take.
  std::optional<int> segment(const StockPlace& place, const SlotTake& take) const;
  /// Notes what the last take in that slot was: of the frequent kind, in a stock of so many segments; or not (0).
  void note(const StockPlace& place, int segments);
  int segments(const StockPlace& place) const { return segments_[static_cast<std::size_t>(place.slot)]; }

 private:
  std::string stock_;
  std::vector<int> segments_;  ///< by slot
};

}  // namespace dlock::redis
