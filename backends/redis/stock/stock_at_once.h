// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "lib/stock/stock.h"

namespace dlock::redis {

/// Decides which takes are tried by the short script for the most frequent kind (take_at_once_*.lua: for good, out of
/// one segment, nothing set aside). A take that this script refuses costs a second request, so it is used only if the
/// stock's last take was of that kind: not when it is out of stock, or has something set aside. Remembers one stock.
class TakesAtOnce {
 public:
  /// The segment for the short script; nullopt: send take.lua, which serves every take.
  std::optional<int> segment(const StockRequest& request, int start) const;
  /// Notes what the last take was: of the frequent kind, in a stock of so many segments; or not (0).
  void note(const LockName& stock, int segments);
  int segments() const { return segments_; }

 private:
  std::string stock_;
  int segments_ = 0;
};

}  // namespace dlock::redis
