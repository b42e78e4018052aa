// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/slot_map.h"

#include <algorithm>

namespace dlock::redis {

const Endpoint* SlotMap::owner(std::uint16_t slot) const {
  if (const auto moved = moved_.find(slot); moved != moved_.end()) return &moved->second;
  const auto behind =
      std::upper_bound(ranges_.begin(), ranges_.end(), slot,
                       [](std::uint16_t wanted, const SlotRange& range) { return wanted < range.first; });
  if (behind == ranges_.begin()) return nullptr;
  const SlotRange& range = *std::prev(behind);
  return slot <= range.last ? &range.master : nullptr;
}

std::vector<Endpoint> SlotMap::masters() const {
  std::vector<Endpoint> all;
  const auto add = [&](const Endpoint& one) {
    if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
  };
  for (const SlotRange& range : ranges_) add(range.master);
  for (const auto& [slot, master] : moved_) add(master);
  return all;
}

void SlotMap::assign(std::vector<SlotRange> ranges) {
  ranges_ = std::move(ranges);
  moved_.clear();
}

void SlotMap::move(std::uint16_t slot, Endpoint to) { moved_.insert_or_assign(slot, std::move(to)); }

}  // namespace dlock::redis
