// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dlock {

/// SHA-1 (FIPS 180-4), where a protocol asks for it. Nothing of ours relies on its strength.
class Sha1 {
 public:
  using Digest = std::array<std::uint8_t, 20>;

  void add(std::string_view bytes);
  /// Of all that was added. REQUIRES: the last call.
  Digest digest();

 private:
  void add(std::uint8_t byte);
  void mix();

  std::array<std::uint32_t, 5> state_ = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  std::array<std::uint8_t, 64> block_ = {};
  std::uint64_t length_ = 0;
};

}  // namespace dlock
