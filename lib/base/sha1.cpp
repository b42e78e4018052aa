// SPDX-License-Identifier: Apache-2.0
#include "lib/base/sha1.h"

#include <bit>

namespace dlock {
namespace {

using State = std::array<std::uint32_t, 5>;

std::uint32_t word_at(const std::uint8_t* bytes) {
  std::uint32_t word = 0;
  for (int i = 0; i < 4; ++i) word = word << 8 | bytes[i];
  return word;
}

std::uint32_t round_function(std::size_t round, const State& s) {
  if (round < 20) return 0x5a827999 + ((s[1] & s[2]) | (~s[1] & s[3]));
  if (round < 40) return 0x6ed9eba1 + (s[1] ^ s[2] ^ s[3]);
  if (round < 60) return 0x8f1bbcdc + ((s[1] & s[2]) | (s[1] & s[3]) | (s[2] & s[3]));
  return 0xca62c1d6 + (s[1] ^ s[2] ^ s[3]);
}

}  // namespace

void Sha1::add(std::string_view bytes) {
  for (const char byte : bytes) add(static_cast<std::uint8_t>(byte));
}

void Sha1::add(std::uint8_t byte) {
  block_[length_++ % block_.size()] = byte;
  if (length_ % block_.size() == 0) mix();
}

void Sha1::mix() {
  std::array<std::uint32_t, 80> words;
  for (std::size_t i = 0; i < 16; ++i) words[i] = word_at(&block_[4 * i]);
  for (std::size_t i = 16; i < words.size(); ++i)
    words[i] = std::rotl(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
  State s = state_;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint32_t next = std::rotl(s[0], 5) + round_function(i, s) + s[4] + words[i];
    s = {next, s[0], std::rotl(s[1], 30), s[2], s[3]};
  }
  for (std::size_t i = 0; i < s.size(); ++i) state_[i] += s[i];
}

Sha1::Digest Sha1::digest() {
  const std::uint64_t bits = length_ * 8;
  add(std::uint8_t{0x80});
  while (length_ % block_.size() != 56) add(std::uint8_t{0});
  for (int shift = 56; shift >= 0; shift -= 8) add(static_cast<std::uint8_t>(bits >> shift));
  Digest digest;
  for (std::size_t i = 0; i < digest.size(); ++i)
    digest[i] = static_cast<std::uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

}  // namespace dlock
