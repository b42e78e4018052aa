// SPDX-License-Identifier: Apache-2.0
#include "cmd/verify/conductor.h"

#include <doctest/doctest.h>

namespace verify_conductor_test {

using namespace dlock;

TEST_CASE("verify: a waiter has its place when it has read it in the store's queue, and not when it sets out for it") {
  const auto said = [](const char* place) {
    return std::string(R"({"message":"waiting for dlock.verify/q)") + place +
           R"(, 0 s - held by ci-4","event":"waiting","key":"dlock.verify/q"})";
  };
  for (const char* own : {": next in line", ": 2nd in line", ": 11th in line"}) {
    CHECK(says_that_it_waits(said(own), true));
    CHECK(says_that_it_waits(said(own), false));
  }
  for (const char* others : {"", ": 3 in line"}) {
    CHECK_FALSE(says_that_it_waits(said(others), true));
    CHECK(says_that_it_waits(said(others), false));
  }
  CHECK_FALSE(says_that_it_waits("", false));
  CHECK(says_that_it_waits(said("") + "\n" + said(": next in line"), true));
}

}  // namespace verify_conductor_test
