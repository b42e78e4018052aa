// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/stock_names.h"

#include <span>

#include "lib/base/entropy.h"

namespace dlock::redis {
namespace {

constexpr std::string_view kPrefix = "dlock:stock:{";
constexpr std::string_view kMeta = "}:meta";
constexpr std::string_view kHex = "x:";

/// The name as a hash tag: names with braces would end it too early.
std::string tag_of(std::string_view name) {
  if (name.find_first_of("{}") == std::string_view::npos && !name.starts_with(kHex)) return std::string(name);
  return std::string(kHex) + hex(std::span(reinterpret_cast<const unsigned char*>(name.data()), name.size()));
}

std::optional<unsigned> digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  return std::nullopt;
}

}  // namespace

StockNames stock_names(const LockName& name) {
  const std::string base = std::string(kPrefix) + tag_of(name.text()) + "}:";
  return {base + "meta", base + "quantity", base + "reserved", base + "open", base + "until", base + "request:"};
}

std::optional<std::string> stock_of_meta(std::string_view key) {
  if (!key.starts_with(kPrefix) || !key.ends_with(kMeta)) return std::nullopt;
  key.remove_prefix(kPrefix.size());
  key.remove_suffix(kMeta.size());
  if (key.find('}') != std::string_view::npos) return std::nullopt;  // of a request with an odd id
  if (!key.starts_with(kHex)) return std::string(key);
  key.remove_prefix(kHex.size());
  std::string name;
  for (std::size_t i = 0; i + 1 < key.size(); i += 2) {
    const auto high = digit(key[i]);
    const auto low = digit(key[i + 1]);
    if (!high || !low) return std::nullopt;
    name += static_cast<char>(*high * 16 + *low);
  }
  return name;
}

}  // namespace dlock::redis
