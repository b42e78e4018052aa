// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/names.h"

#include <doctest/doctest.h>

#include <string>

namespace dlock::redis::slots_test {
namespace {

struct KeyAndSlot {
  std::string_view key;
  int slot;
};

using namespace std::string_view_literals;

}  // namespace

TEST_CASE("a key has the slot that CLUSTER KEYSLOT says") {
  const KeyAndSlot known[] = {
      {"", 0},
      {"x", 16287},
      {"foo", 12182},
      {"dl:{x}", 16287},
      {"{}", 15257},
      {"{}a", 10875},
      {"{{a}}", 10276},
      {"a{b}c", 3300},
      {"key with space", 15749},
      {"ключ", 10303},
      {"\x00\xff{a}\r\n"sv, 15495},
      {"L", 2376},
      {"redisson_lock__channel:{L}", 2376},
      {"a{b}{c}", 3300},
      {"a}b{c}", 7365},
  };
  for (const KeyAndSlot& one : known) {
    CAPTURE(one.key);
    CHECK(key_slot(one.key) == one.slot);
  }
}

TEST_CASE("a name with an open or empty brace has another slot than the channel made of it") {
  CHECK(key_slot("a{b") == 13340);
  CHECK(key_slot("a{}b") == 13694);
  CHECK(key_slot("a{}{b}") == 15033);
  CHECK(key_slot("redisson_lock__channel:a{b") == 3200);
  CHECK(key_slot("redisson_lock__channel:a{}b") == 7717);
  CHECK(key_slot("redisson_lock__channel:a{}{b}") == 2875);
}

}  // namespace dlock::redis::slots_test
