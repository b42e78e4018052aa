// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/skips.h"

#include <doctest/doctest.h>

namespace dlock::testing::skips_test {
namespace {

using Lines = std::vector<std::string>;

/// Two backends came to a case that wants readers: "plain" left it out, "rich" did not.
Skips after_one_case() {
  Skips skips;
  CHECK(skips.note("plain", "they share", "no readers", true));
  CHECK_FALSE(skips.note("rich", "they share", "no readers", false));
  return skips;
}

}  // namespace

TEST_CASE("skips: the list has a line for a reason, several backends on it, and comments") {
  const Skips::List list = Skips::parse("# why\n\nno readers: plain;  tair, versioned  # for now\nno queue: plain");
  CHECK(list == Skips::List{{"no readers", {"plain", "tair, versioned"}}, {"no queue", {"plain"}}});
}

TEST_CASE("skips: who is on the list for that very reason may leave a case out, and nobody else") {
  const Skips skips = after_one_case();
  const Lines none;
  CHECK(skips.listed(Skips::parse("no readers: plain")) == Lines{"they share: no readers: plain"});
  CHECK(skips.unlisted(Skips::parse("no readers: plain")) == none);
  for (const char* other : {"", "no readers: rich", "no queue: plain"}) {
    CHECK(skips.unlisted(Skips::parse(other)) == Lines{"plain: they share: no readers"});
    CHECK(skips.listed(Skips::parse(other)) == none);
  }
}

TEST_CASE("skips: a line of the list is stale when its backend has done what was asked") {
  const Skips skips = after_one_case();
  const Skips::Run part{{"plain", "rich"}, false, false};
  CHECK(skips.stale(Skips::parse("no readers: plain; rich"), part) == Lines{"rich: no readers"});
}

TEST_CASE("skips: a line that no case came to is stale when all cases have run, and its backend as well") {
  const Skips skips = after_one_case();
  const Skips::List list = Skips::parse("no readers: plain\nno queue: rich; absent");
  const std::set<std::string> backends{"plain", "rich"};
  CHECK(skips.stale(list, {backends, false, false}) == Lines());
  CHECK(skips.stale(list, {backends, false, true}) == Lines{"rich: no queue"});
  CHECK(skips.stale(list, {backends, true, false}) == Lines{"absent: no queue"});
  CHECK(skips.stale(list, {backends, true, true}) == Lines{"absent: no queue", "rich: no queue"});
}

}  // namespace dlock::testing::skips_test
