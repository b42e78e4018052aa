// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/stock/stock_names.h"

#include "lib/base/text.h"

namespace dlock::redis {
namespace {

constexpr std::string_view kMeta = "}:meta";
constexpr std::string_view kHex = "x:";
constexpr std::string_view kFirstSlot = "|0.";

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
std::string prefix_of(StockCounters counters) {
  std::string prefix = "dlock:stock:";
  if (counters == StockCounters::kPlain) prefix += "decr:";
  if (counters == StockCounters::kTair) prefix += "tair:";
  return prefix;
}

/// The part in the braces of "PREFIX{...}:meta".
std::optional<std::string_view> tag_in(std::string_view key, std::string_view prefix) {
  if (!key.starts_with(prefix) || !key.ends_with(kMeta)) return std::nullopt;
  key.remove_prefix(prefix.size());
  key.remove_suffix(kMeta.size());
  if (key.find('}') != std::string_view::npos) return std::nullopt;  // of a request with an odd id
  return key;
}

/// Characters that a pattern of Redis takes for more than themselves.
std::string literal(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (std::string_view("*?[]^-\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

}  // namespace

StockNames StockSpace::names(const LockName& stock) const {
  const std::string base = prefix_of(counters) + "{" + tag_of(stock.text()) + "}:";
  return {base + "meta", base + "quantity", base + "reserved", base + "open", base + "until", base + "request:"};
}

std::optional<std::string> StockSpace::stock_of_meta(std::string_view key) const {
  const auto tag = tag_in(key, prefix_of(counters) + "{");
  return tag ? name_of(*tag) : std::nullopt;
}

std::string StockSpace::meta_pattern() const { return prefix_of(counters) + "{*}:meta"; }

std::string StockSpace::spread_pattern(const LockName& stock) const {
  return prefix_of(counters) + "[0-9]*:{" + literal(tag_of(stock.text())) + std::string(kFirstSlot) + "*}:meta";
}

std::optional<std::string> StockSpace::stock_of_spread_meta(std::string_view key) const {
  const std::string prefix = prefix_of(counters);
  const std::size_t brace = key.find('{');
  if (!key.starts_with(prefix) || brace == std::string_view::npos) return std::nullopt;
  const auto tag = tag_in(key, key.substr(0, brace + 1));
  const std::size_t at = tag ? tag->rfind('|') : std::string_view::npos;
  if (at == std::string_view::npos || !tag->substr(at).starts_with(kFirstSlot)) return std::nullopt;
  return name_of(tag->substr(0, at));
}

}  // namespace dlock::redis
