// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/lock_name.h"

#include <doctest/doctest.h>

#include "lib/lock/fencing_token.h"
#include "lib/lock/owner.h"

namespace lock_name_test {

using namespace dlock;

TEST_CASE("A key is 1 to 255 bytes of UTF-8 without control characters") {
  for (const std::string& good :
       {std::string("k"), std::string("deploy/prod"), std::string("a b"), std::string("größe"),
        std::string("\xF0\x9F\x94\x92"), std::string(255, 'x'), std::string("-n"), std::string("/etc/x")}) {
    CAPTURE(good);
    REQUIRE(LockName::parse(good));
    CHECK(LockName::parse(good)->text() == good);
  }
  for (const std::string& bad :
       {std::string(), std::string(256, 'x'), std::string("a\nb"), std::string("a\0b", 3), std::string("\x7f"),
        std::string("\xC2\x85"), std::string("\xFF"), std::string("\xC0\xAF"), std::string("\xED\xA0\x80"),
        std::string("\xF4\x90\x80\x80"), std::string("\xE2\x82")}) {
    CAPTURE(bad);
    REQUIRE_FALSE(LockName::parse(bad));
    CHECK(LockName::parse(bad).error().code == ErrorCode::kInvalid);
  }
}

TEST_CASE("A slot of --once has a name that no key has, and a store gives back") {
  const LockName key = *LockName::parse("deploy/prod");
  for (const char* text : {"2026-11-26", "a:once:b", "größe", "{x}", ":slot"}) {
    CAPTURE(text);
    const auto slot = LockName::of_slot(key, text);
    REQUIRE(slot);
    CHECK(slot->is_slot());
    CHECK(slot->key() == "deploy/prod");
    CHECK(slot->slot() == text);
    CHECK(slot->spoken() == std::string("slot ") + text + " of deploy/prod");
    CHECK_FALSE(LockName::parse(slot->text()));
    CHECK(*LockName::parse_stored(slot->text()) == *slot);
  }
  CHECK_FALSE(key.is_slot());
  CHECK(key.key() == "deploy/prod");
  CHECK(key.slot().empty());
  CHECK(*LockName::parse_stored("deploy/prod") == key);
  const std::string with_mark = LockName::of_slot(key, "s")->text();
  for (const std::string& bad : {std::string(), std::string("a\nb"), with_mark, std::string(244, 'x')}) {
    CAPTURE(bad);
    REQUIRE_FALSE(LockName::of_slot(key, bad));
    CHECK(LockName::of_slot(key, bad).error().code == ErrorCode::kInvalid);
  }
  CHECK(LockName::of_slot(key, std::string(243, 'x')));
  CHECK_FALSE(LockName::parse_stored(with_mark + with_mark));
  CHECK_FALSE(LockName::parse_stored(with_mark.substr(11)));
}

TEST_CASE("A key is typed in a shell as it was named") {
  const struct {
    const char *key, *typed;
  } rows[] = {{"deploy/prod", "deploy/prod"},
              {"a b", "'a b'"},
              {"it's", "'it'\\''s'"},
              {"say \"x\"", "'say \"x\"'"},
              {"back\\slash", "'back\\slash'"},
              {"$HOME", "'$HOME'"},
              {"`id`", "'`id`'"},
              {"ci/*", "'ci/*'"},
              {"~", "'~'"},
              {"#c", "'#c'"},
              {"!!", "'!!'"},
              {"größe", "'größe'"},
              {"-x", "-- -x"},
              {"-x y", "-- '-x y'"},
              {"100%", "100%"},
              {"a;b", "'a;b'"}};
  for (const auto& row : rows) CHECK(LockName::parse(row.key)->typed() == row.typed);
}

TEST_CASE("An owner handle is 32 lower-case hex digits, and no two are the same") {
  CHECK(Owner::parse(Owner::random().text()));
  CHECK(Owner::random() != Owner::random());
  for (const char* bad : {"", "0123", "0123456789ABCDEF0123456789abcdef", "0123456789abcdef0123456789abcdeg"}) {
    CHECK_FALSE(Owner::parse(bad));
  }
}

TEST_CASE("A fencing token is a number from 1 up") {
  CHECK(FencingToken::parse("9223372036854775807")->value() == 9223372036854775807u);
  for (const char* bad : {"", "0", "-1", "+1", " 1", "1 ", "1x", "9223372036854775808"})
    CHECK_FALSE(FencingToken::parse(bad));
}

}  // namespace lock_name_test
