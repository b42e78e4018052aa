// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/names.h"

#include <doctest/doctest.h>

#include <set>

namespace dlock::redis::names_test {
namespace {

NativeNames names_of(const std::string& text) { return *native_names(*LockName::parse(text)); }

const char* const kNames[] = {"k",      "a/b", "a{t}b",          "a{b", "a}b",   "a{}b", "a{}{b}", "a{b}{c}",
                              "a}b{c}", "{k}", "key with space", "=k",  "#{1}k", "ключ"};

}  // namespace

TEST_CASE("the key of a lock is its name, so that other clients meet us there") {
  for (const char* name : kNames) CHECK(names_of(name).key == name);
}

TEST_CASE("the companions of a lock are in the slot of its key") {
  for (const char* name : kNames) {
    INFO(name);
    const NativeNames names = names_of(name);
    for (const std::string& key : {names.fence, names.holders, names.until, names.queue, names.waiting, names.fenced}) {
      CHECK(key_slot(key) == key_slot(names.key));
    }
  }
}

TEST_CASE("no two names share a companion") {
  std::set<std::string> keys;
  std::size_t count = 0;
  for (const char* name : kNames) {
    const NativeNames names = names_of(name);
    for (const std::string& key : {names.fence, names.holders, names.until, names.queue, names.waiting, names.fenced}) {
      keys.insert(key);
      ++count;
    }
  }
  CHECK(keys.size() == count);
}

TEST_CASE("the name of a lock is found again from its companions") {
  for (const char* name : kNames) {
    CHECK(name_of_companion(names_of(name).holders, "holders") == name);
    CHECK_FALSE(name_of_companion(names_of(name).holders, "queue"));
  }
  CHECK_FALSE(name_of_companion("dlock:", "holders"));
  CHECK_FALSE(name_of_companion("dlock::holders", "holders"));
  CHECK_FALSE(name_of_companion("other:{k}:holders", "holders"));
}

TEST_CASE("a slot of --once lies in the slot of its lock, where no other lock can be, and is found again") {
  std::set<std::string> keys;
  std::size_t count = 0;
  for (const char* key : kNames) {
    for (const char* text : {"s", "s:holders", "s:slot", "{x}"}) {
      INFO(key, " ", text);
      const LockName slot = *LockName::of_slot(*LockName::parse(key), text);
      const NativeNames names = *native_names(slot);
      CHECK(names.key.starts_with("dlock:"));
      for (const std::string& one : {names.key, names.fence, names.holders, names.until, names.queue, names.waiting}) {
        CHECK(key_slot(one) == key_slot(key));
        keys.insert(one);
        ++count;
      }
      CHECK(name_of_companion(names.holders, "holders") == slot.text());
    }
  }
  CHECK(keys.size() == count);
}

TEST_CASE("names that begin as the companions do are refused") {
  const auto refused = native_names(*LockName::parse("dlock:{k}:fence"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kUnsupported);
}

}  // namespace dlock::redis::names_test
