// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/stock/stock_names.h"

#include "backends/redis/deployment/slots.h"
#include "lib/base/text.h"

namespace dlock::redis {
namespace {

constexpr std::string_view kMeta = "}:meta";
constexpr std::string_view kHex = "x:";
constexpr std::string_view kFirst = "|0.";

/// The name as a part of a hash tag: names with braces would end it too early.
std::string tag_of(std::string_view name) {
  if (name.find_first_of("{}") == std::string_view::npos && !name.starts_with(kHex)) return std::string(name);
  return std::string(kHex) + hex(name);
}

std::optional<std::string> name_of(std::string_view tag) {
  if (!tag.starts_with(kHex)) return std::string(tag);
  return from_hex(tag.substr(kHex.size()));
}

/// Less the tag. Each kind of stocks has names of its own.
std::string prefix_of(const StockSpace& space) {
  std::string prefix = "dlock:stock:";
  if (space.counters == StockCounters::kPlain) prefix += "decr:";
  if (space.counters == StockCounters::kTair) prefix += "tair:";
  if (space.slots > 1) prefix += std::to_string(space.slots) + ":";
  return prefix + "{";
}

/// "NAME|SLOT.SALT", with the least salt that puts it into the right part of the slots of a cluster: so many parts of
/// equal size as the stock has slots, so that masters that have equal shares of the slots have equal shares of it.
std::string spread_tag(const std::string& tag, int slot, int slots) {
  const std::string base = tag + "|" + std::to_string(slot) + ".";
  for (int salt = 0;; ++salt) {
    std::string one = base + std::to_string(salt);
    if (key_slot(one) * slots / kSlots == slot) return one;
  }
}

}  // namespace

StockNames StockSpace::names(const LockName& stock, int slot) const {
  const std::string tag = tag_of(stock.text());
  const std::string base = prefix_of(*this) + (slots > 1 ? spread_tag(tag, slot, slots) : tag) + "}:";
  return {base + "meta",     base + "quantity", base + "reserved", base + "open",    base + "until",
          base + "request:", base + "held",     base + "owed",     base + "refused", base + "brought:"};
}

std::optional<std::string> StockSpace::stock_of_meta(std::string_view key) const {
  const std::string prefix = prefix_of(*this);
  if (!key.starts_with(prefix) || !key.ends_with(kMeta)) return std::nullopt;
  key.remove_prefix(prefix.size());
  key.remove_suffix(kMeta.size());
  if (key.find('}') != std::string_view::npos) return std::nullopt;  // of a request with an odd id
  if (slots == 1) return name_of(key);
  const std::size_t at = key.rfind('|');
  if (at == std::string_view::npos || !key.substr(at).starts_with(kFirst)) return std::nullopt;
  return name_of(key.substr(0, at));
}

std::string StockSpace::meta_pattern() const {
  return prefix_of(*this) + (slots > 1 ? "*" + std::string(kFirst) : "") + "*}:meta";
}

}  // namespace dlock::redis
