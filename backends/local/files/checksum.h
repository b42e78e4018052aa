// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace dlock::local {

/// FNV-1a over the 64-bit words of a block but its last one, which is the place for the result. Finds torn and damaged
/// blocks; is not a defence against a forger, who could as well lock the bytes themselves. Never 0: a block of zeros is
/// not sound.
template <typename Block>
std::uint64_t checksum_of(const Block& block) {
  static_assert(sizeof(Block) % 8 == 0);
  constexpr std::size_t kWords = sizeof(Block) / 8 - 1;
  const auto* bytes = reinterpret_cast<const unsigned char*>(&block);
  std::uint64_t sum = 0xcbf29ce484222325ULL;
  for (std::size_t i = 0; i < kWords; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + i * sizeof word, sizeof word);
    sum = (sum ^ word) * 0x100000001b3ULL;
    sum ^= sum >> 29;
  }
  return sum | 1;
}

}  // namespace dlock::local
