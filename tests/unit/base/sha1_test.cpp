// SPDX-License-Identifier: Apache-2.0
#include "lib/base/sha1.h"

#include <doctest/doctest.h>

#include <string>

#include "lib/base/text.h"

namespace sha1_test {

using namespace dlock;

std::string hex_of(std::string_view text) {
  Sha1 hash;
  hash.add(text.substr(0, text.size() / 3));
  hash.add(text.substr(text.size() / 3));
  const auto digest = hash.digest();
  return hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

TEST_CASE("SHA-1 is that of FIPS 180-4, in whatever pieces the text comes") {
  CHECK(hex_of("") == "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  CHECK(hex_of("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d");
  CHECK(hex_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  CHECK(hex_of(std::string(1000000, 'a')) == "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

TEST_CASE("the padding of SHA-1 takes another block where the length has no room") {
  CHECK(hex_of(std::string(55, 'a')) == "c1c8bbdc22796e28c0e15163d20899b65621d65a");
  CHECK(hex_of(std::string(56, 'a')) == "c2db330f6083854c99d4b5bfb6e8f29f201be699");
  CHECK(hex_of(std::string(64, 'a')) == "0098ba824b5c16427bd7a1122a5a442a25ec644d");
}

}  // namespace sha1_test
