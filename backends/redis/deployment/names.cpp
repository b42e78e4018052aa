// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/names.h"

#include <array>

namespace dlock::redis {
namespace {

/// CRC-16/XMODEM: polynomial 0x1021, from 0, not reflected.
constexpr std::array<std::uint16_t, 256> kCrc16 = [] {
  std::array<std::uint16_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t crc = byte << 8U;
    for (int bit = 0; bit < 8; ++bit) crc = (crc << 1U) ^ ((crc & 0x8000U) != 0 ? 0x1021U : 0U);
    table[byte] = static_cast<std::uint16_t>(crc & 0xffffU);
  }
  return table;
}();

std::uint16_t crc16(std::string_view bytes) {
  std::uint32_t crc = 0;
  for (const char c : bytes) {
    crc = ((crc << 8U) ^ kCrc16[((crc >> 8U) ^ static_cast<unsigned char>(c)) & 0xffU]) & 0xffffU;
  }
  return static_cast<std::uint16_t>(crc);
}

constexpr std::string_view kReserved = "dlock:";

/// A tag of digits with the slot of `name`: the smallest number that has it.
std::string tag_in_slot_of(std::string_view name) {
  const std::uint16_t slot = key_slot(name);
  for (unsigned number = 0;; ++number) {
    std::string digits = std::to_string(number);
    if (key_slot(digits) == slot) return digits;
  }
}

/// Three forms, which differ in their first character, because a cluster must find the companions where the key is.
std::string stem(std::string_view name) {
  std::string text(kReserved);
  if (hash_tag(name) != name) return text.append("=").append(name);
  if (name.find('}') == std::string_view::npos) return text.append("{").append(name).append("}");
  return text.append("#{").append(tag_in_slot_of(name)).append("}").append(name);
}

}  // namespace

std::string_view hash_tag(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open == std::string_view::npos) return key;
  const std::size_t close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

std::uint16_t key_slot(std::string_view key) { return crc16(hash_tag(key)) % kSlots; }

Result<NativeNames> native_names(const LockName& name) {
  if (name.text().starts_with(kReserved)) {
    return Error{ErrorCode::kUnsupported,
                 name.text() + ": names that begin with 'dlock:' are kept for dlock itself on Redis",
                 "choose another name"};
  }
  const std::string base =
      stem(name.key()) + (name.is_slot() ? name.text().substr(name.key().size()) : std::string());  // with its mark
  return NativeNames{name.is_slot() ? base + ":slot" : name.text(),
                     base + ":fence",
                     base + ":holders",
                     base + ":until",
                     base + ":queue",
                     base + ":waiting",
                     base + ":wake:",
                     base + ":forced",
                     base + ":fenced"};
}

std::optional<std::string> name_of_companion(std::string_view key, std::string_view suffix) {
  const std::string end = ":" + std::string(suffix);
  if (!key.starts_with(kReserved) || !key.ends_with(end)) return std::nullopt;
  key.remove_prefix(kReserved.size());
  key.remove_suffix(end.size());
  if (key.size() < 2) return std::nullopt;
  if (key.front() == '=') return std::string(key.substr(1));
  const std::size_t close = key.find('}');
  if (key.front() == '{' && close != std::string_view::npos) {
    return std::string(key.substr(1, close - 1)).append(key.substr(close + 1));
  }
  if (key.front() == '#' && close != std::string_view::npos) return std::string(key.substr(close + 1));
  return std::nullopt;
}

}  // namespace dlock::redis
