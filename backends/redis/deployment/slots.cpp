// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/slots.h"

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

}  // namespace

std::string_view hash_tag(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open == std::string_view::npos) return key;
  const std::size_t close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

std::uint16_t key_slot(std::string_view key) { return crc16(hash_tag(key)) % kSlots; }

}  // namespace dlock::redis
