// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/slot_plan.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include "lib/base/text.h"
#include "lib/stock/segment_plan.h"

namespace dlock {
namespace {

std::size_t index(int number) { return static_cast<std::size_t>(number); }

}  // namespace

int home_slot(const LockName& id, int slots) {
  std::uint32_t hash = 2166136261u;
  for (const char c : id.text()) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return static_cast<int>(hash % static_cast<std::uint32_t>(slots));
}

StockParts parts_in(const StockParts& parts, int slot, int slots) {
  StockParts here;
  for (const StockPart& part : parts) {
    if (part.segment % slots == slot) here.push_back(part);
  }
  return here;
}

std::vector<int> slots_of(const StockParts& parts, int slots, int except) {
  std::set<int> all;
  for (const StockPart& part : parts) all.insert(part.segment % slots);
  all.erase(except);
  return {all.begin(), all.end()};
}

std::vector<Quantity> share_of(const std::vector<Quantity>& each, int slot, int slots) {
  std::vector<Quantity> share;
  for (std::size_t i = index(slot); i < each.size(); i += index(slots)) share.push_back(each[i]);
  if (share.empty()) share.push_back(0);
  return share;
}

std::vector<StockSegment> fold(const std::vector<std::vector<StockSegment>>& places, int segments) {
  std::vector<StockSegment> all(index(segments));
  for (std::size_t slot = 0; slot < places.size(); ++slot) {
    for (std::size_t i = 0; i < places[slot].size(); ++i) {
      StockSegment& segment = all[(slot + i * places.size()) % all.size()];
      segment.quantity += places[slot][i].quantity;
      segment.reserved += places[slot][i].reserved;
    }
  }
  return all;
}

std::vector<Quantity> by_number(const std::vector<std::vector<StockSegment>>& places) {
  std::vector<Quantity> all(places.size());
  for (std::size_t slot = 0; slot < places.size(); ++slot) {
    for (std::size_t i = 0; i < places[slot].size(); ++i) {
      const std::size_t number = slot + i * places.size();
      if (number >= all.size()) all.resize(number + 1);
      all[number] = places[slot][i].quantity;
    }
  }
  return all;
}

Levelling plan_levelling(Quantity epoch, Quantity total, int segments, int slots) {
  Levelling plan{epoch, segments, {}};
  const std::vector<Quantity> each = spread(total, segments);
  for (int slot = 0; slot < slots; ++slot) {
    Quantity target = 0;
    for (const Quantity quantity : share_of(each, slot, slots)) target += quantity;
    plan.targets.push_back(target);
  }
  return plan;
}

std::string levelling_text(const Levelling& plan) {
  std::string text = std::to_string(plan.epoch) + " " + std::to_string(plan.segments);
  char between = ' ';
  for (const Quantity target : plan.targets) {
    text += between + std::to_string(target);
    between = ',';
  }
  return text;
}

Result<Levelling> parse_levelling(std::string_view text) {
  const Error broken{ErrorCode::kInvalid, "'" + std::string(utf8_prefix(text, 80)) + "' is no plan of a levelling"};
  const auto take = [&](char end) { return parse_quantity(cut(text, end), 0); };
  const auto epoch = take(' ');
  const auto segments = take(' ');
  if (!epoch || !segments || *segments < 1 || *segments > kMostSegments || text.empty()) return broken;
  Levelling plan{*epoch, static_cast<int>(*segments), {}};
  while (!text.empty()) {
    const auto target = take(',');
    if (!target) return broken;
    plan.targets.push_back(*target);
  }
  return plan;
}

std::vector<Quantity> pour(const std::vector<Quantity>& targets, const std::vector<Quantity>& left, Quantity poured) {
  std::vector<Quantity> gets(targets.size());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    gets[i] = std::clamp(targets[i] - left[i], Quantity{0}, poured);
    poured -= gets[i];
  }
  gets[0] += poured;
  return gets;
}

}  // namespace dlock
