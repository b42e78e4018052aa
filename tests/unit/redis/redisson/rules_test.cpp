// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/redisson/rules.h"

#include <doctest/doctest.h>

#include "backends/redis/deployment/families.h"

namespace dlock::redis::redisson_kinds_test {
namespace {

RedissonNames names_of(RedissonKind kind, const std::string& text, bool cluster = false) {
  return *redisson_names(kind, *LockName::parse(text), cluster);
}

constexpr RedissonKind kKinds[] = {RedissonKind::kLock, RedissonKind::kFenced, RedissonKind::kFair,
                                   RedissonKind::kReadWrite};

}  // namespace

TEST_CASE("keys and channels have Redisson's names, byte for byte: an opening brace anywhere is a tag") {
  for (const RedissonKind kind : kKinds) CHECK(names_of(kind, "L").beside.key == "L");
  CHECK(names_of(RedissonKind::kLock, "L").channel == "redisson_lock__channel:{L}");
  CHECK(names_of(RedissonKind::kLock, "a{t}b").channel == "redisson_lock__channel:a{t}b");
  CHECK(names_of(RedissonKind::kLock, "a{b").channel == "redisson_lock__channel:a{b");
  CHECK(names_of(RedissonKind::kReadWrite, "L").channel == "redisson_rwlock:{L}");
  CHECK(names_of(RedissonKind::kReadWrite, "L").stem == "{L}");
  CHECK(names_of(RedissonKind::kReadWrite, "a{t}b").stem == "a{t}b");
  CHECK(names_of(RedissonKind::kFenced, "L").others == std::vector<std::string>{"redisson_lock_token:{L}"});
  const std::vector<std::string> fair{"redisson_lock_queue:{L}", "redisson_lock_timeout:{L}", "dlock:{L}:waiting"};
  CHECK(names_of(RedissonKind::kFair, "L").others == fair);
}

TEST_CASE("on a cluster a name is refused whose keys Redisson's rule puts into several slots") {
  for (const RedissonKind kind : kKinds) {
    for (const char* name : {"L", "a{t}b", "a{b}{c}", "a}b{c}", "{k}"}) {
      CHECK(redisson_names(kind, *LockName::parse(name), true));
    }
    for (const char* name : {"a{b", "a{}b", "a{}{b}"}) {
      const auto names = redisson_names(kind, *LockName::parse(name), true);
      REQUIRE(!names);
      CHECK(names.error().code == ErrorCode::kUnsupported);
      CHECK(redisson_names(kind, *LockName::parse(name), false));
    }
  }
}

TEST_CASE("an owner is a field of Redisson's form, and back; other fields are nobody's of ours") {
  const Owner owner = *Owner::parse("0123456789abcdef0123456789abcdef");
  CHECK(redisson_field(owner) == "01234567-89ab-cdef-0123-456789abcdef:1");
  CHECK(owner_of_field(redisson_field(owner)) == owner);
  for (const char* field : {"", "mode", "01234567-89ab-cdef-0123-456789abcdef:2", "0123456789abcdef0123456789abcdef:1",
                            "01234567-89ab-cdef-0123-456789abcdef:1:write"}) {
    CHECK(!owner_of_field(field));
  }
}

TEST_CASE("what another family has left at a key is said with the layout to name, and data is told from locks") {
  struct Row {
    const char* type;
    std::string sign;
    bool ends;
    std::string note;
    bool is_lock;
  };
  const std::string thread = "01234567-89ab-cdef-0123-456789abcdef:77";
  const Row rows[] = {
      {"hash", "read", false, "a Redisson read lock; add ?layout=redisson&kind=rw", true},
      {"hash", "write", false, "a Redisson write lock; add ?layout=redisson&kind=rw", true},
      {"hash", thread, true, "a Redisson lock; add ?layout=redisson&kind=lock", true},
      {"hash", "name", true, "a hash", false},
      {"list", "list", false, "a list", false},
      {"zset", "", true, "a zset", false},
      {"string of 70000 bytes", "", true, "a string of 70000 bytes", false},
      {"exstrtype", "", true, "a string of Tair; use tair://", true},
      // redis-py, node-redlock, redsync, redlock-php, UUIDs, a home-made one; 16 raw bytes
      {"string", "0f9c1d1e0f9c11efb5f00242ac120002", false, "another lock client", true},
      {"string", "q1w2e3r4t5y6u7i8o9p0aA==", true, "another lock client", true},
      {"string", "6746f3a2c1b2e", true, "another lock client", true},
      {"string", "01234567-89ab-cdef-0123-456789abcdef", false, "another lock client", true},
      {"string", "host-3:8812", true, "another lock client", true},
      {"string", "1", true, "another lock client", true},
      {"string", "\x01\x02\x80 {\xff\"_89abcdef", true, "another lock client", true},
      {"string", "3", false, "a number", false},
      {"string", "-1764183600.25", false, "a number", false},
      {"string", "{\"name\":\"x\"}", false, "a string of 12 bytes", false},
      {"string", "{\"name\":\"x\"}", true, "a string of 12 bytes", false},
      {"string", "two words", false, "a string of 9 bytes", false},
      {"string", "two words", true, "another lock client", true},
      {"string", "\xff", true, "another lock client", true},
      {"string", "", false, "a string of 0 bytes", false},
      {"string", std::string(129, 'x'), true, "a string of 129 bytes", false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.note);
    const Family family = family_of(row.type, row.sign, row.ends);
    CHECK(family.note == row.note);
    CHECK(family.is_lock == row.is_lock);
  }
  CHECK(is_redisson_owner("01234567-89ab-cdef-0123-456789abcdef:01234567-89ab-cdef-0123-456789abcdef"));
}

TEST_CASE("what Redisson's object of a kind has not is refused") {
  const auto fits = [](RedissonKind kind, auto change) {
    LockSpec spec{.name = *LockName::parse("k"), .owner = Owner::random(), .wait = {}, .reason = {}, .ancestor = {}};
    change(spec);
    return static_cast<bool>(check_fits(kind, spec));
  };
  for (const RedissonKind kind : kKinds) {
    INFO(kind_word(kind));
    CHECK(fits(kind, [](LockSpec&) {}));
    CHECK(!fits(kind, [](LockSpec& spec) { spec.mode = Mode::kPermits; }));
    CHECK(fits(kind, [](LockSpec& spec) { spec.mode = Mode::kShared; }) == (kind == RedissonKind::kReadWrite));
    CHECK(fits(kind, [](LockSpec& spec) { spec.fair = true; }) == (kind == RedissonKind::kFair));
    CHECK(!fits(kind, [](LockSpec& spec) { spec.lock_delay = std::chrono::seconds(1); }));
    CHECK(static_cast<bool>(check_has_tokens(kind)) == (kind == RedissonKind::kFenced));
  }
}

}  // namespace dlock::redis::redisson_kinds_test
