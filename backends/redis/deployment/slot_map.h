// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "backends/redis/deployment/redirect.h"

namespace dlock::redis {

/// Which master has which slot, as far as is known.
class SlotMap {
 public:
  bool empty() const { return ranges_.empty() && moved_.empty(); }
  /// nullptr: nobody, as far as is known.
  const Endpoint* owner(std::uint16_t slot) const;
  /// Every master once, in the order of the slots.
  std::vector<Endpoint> masters() const;

  /// REQUIRES: `ranges` are sorted. Forgets everything else.
  void assign(std::vector<SlotRange> ranges);
  /// One slot has another master: a MOVED said so.
  void move(std::uint16_t slot, Endpoint to);

 private:
  std::vector<SlotRange> ranges_;
  std::map<std::uint16_t, Endpoint> moved_;  ///< since assign(); goes before ranges_
};

}  // namespace dlock::redis
