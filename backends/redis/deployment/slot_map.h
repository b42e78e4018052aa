// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "backends/redis/deployment/redirect.h"

namespace dlock::redis {

/// Which master has which slot of a cluster, as far as is known.
class SlotMap {
 public:
  bool empty() const { return ranges_.empty() && moved_.empty(); }
  /// The master of `slot`; nullptr: not known.
  const Endpoint* owner(std::uint16_t slot) const;
  /// Every master once, in the order of the slots.
  std::vector<Endpoint> masters() const;

  /// Replaces all that is known by `ranges`. REQUIRES: they are sorted.
  void assign(std::vector<SlotRange> ranges);
  /// A MOVED has said that `to` is the master of `slot` now.
  void move(std::uint16_t slot, Endpoint to);

 private:
  std::vector<SlotRange> ranges_;
  std::map<std::uint16_t, Endpoint> moved_;  ///< by move() since the last assign(); goes before ranges_
};

}  // namespace dlock::redis
