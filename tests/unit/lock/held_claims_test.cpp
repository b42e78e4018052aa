// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/held_claims.h"

#include <doctest/doctest.h>

namespace held_claims_test {

using namespace dlock;

TEST_CASE("DLOCK_HELD finds the claim for one lock of one store, and only that") {
  const HeldLock a{*LockName::parse("a b|c%"), Owner::random(), FencingToken(3), "local:/x y"};
  HeldLock b{*LockName::parse("k"), Owner::random(), FencingToken(4), "redis://h"};
  b.secret = "5ec3e7";
  const std::string text = format_held(format_held("", {a}), {b});
  REQUIRE(find_claim(text, "local:/x y", a.name));
  CHECK(find_claim(text, "local:/x y", a.name)->owner == a.owner);
  CHECK(find_claim(text, "redis://h", b.name)->token == FencingToken(4));
  CHECK(find_claim(text, "redis://h", b.name)->secret == "5ec3e7");
  CHECK_FALSE(find_claim(text, "redis://other", b.name));
  CHECK_FALSE(find_claim(text, "redis://h", a.name));
}

TEST_CASE("A newer hold of the same lock replaces the older claim") {
  const HeldLock first{*LockName::parse("k"), Owner::random(), FencingToken(3), "local:/x"};
  const HeldLock second{*LockName::parse("k"), Owner::random(), FencingToken(9), "local:/x"};
  const auto entries = parse_held(format_held(format_held("", {first}), {second}));
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].claim.token == FencingToken(9));
}

TEST_CASE("A hold in a store that has no tokens is claimed without one") {
  const HeldLock lock{*LockName::parse("k"), Owner::random(), FencingToken(), "redis://h?layout=redisson"};
  const auto entries = parse_held(format_held("", {lock}));
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].claim.token.is_none());
}

TEST_CASE("What is not a claim is left out and harms nobody") {
  for (const char* text :
       {"", " ", "|||", "a|b|c|d", "store|key|0123|1", "store|key|0123456789abcdef0123456789abcdef|00",
        "%|%2|0123456789abcdef0123456789abcdef|x"}) {
    CAPTURE(text);
    CHECK(parse_held(text).empty());
  }
}

}  // namespace held_claims_test
