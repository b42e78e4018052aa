// SPDX-License-Identifier: Apache-2.0
#include "tests/verify/workers.h"

#include <doctest/doctest.h>

namespace verify_workers_test {

using namespace dlock;

TEST_CASE("verify: a waiter has its place when it has read it in the store's queue, and not when it sets out for it") {
  const auto said = [](const char* place) {
    return std::string(R"({"message":"waiting for verify/q)") + place +
           R"(, 0 s - held by ci-4","event":"waiting","key":"verify/q"})";
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

TEST_CASE("verify: the last message of a log is told without what stands behind it") {
  CHECK(last_message(R"({"event":"note","message":"waiting","next":"see: x"})"
                     "\n"
                     R"({"event":"busy","message":"k is held","next":"see: dlock inspect"})"
                     "\n") == "k is held");
  CHECK(last_message(R"({"event":"unavailable","message":"no answer"})"
                     "\n") == "no answer");
  CHECK(last_message("Killed\n") == "Killed\n");
}

}  // namespace verify_workers_test
