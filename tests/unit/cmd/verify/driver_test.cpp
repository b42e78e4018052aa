// SPDX-License-Identifier: Apache-2.0
#include "cmd/verify/driver.h"
#include "cmd/verify/hook.h"

#include <doctest/doctest.h>

namespace verify_driver_test {

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

TEST_CASE("verify: a hook that fails is no fault, and one that cannot be run ends everything") {
  CHECK_FALSE(hook_failure("fault-1", 0));
  const auto failed = hook_failure("fault-2", 1);
  REQUIRE(failed);
  CHECK(failed->code == ErrorCode::kSystem);
  CHECK(failed->message == "hook fault-2 ended with 1");
  CHECK(hook_failure("fault-3", 137)->message == "hook fault-3 was ended by signal 9");
  const auto missing = hook_failure("fault-1", 127);
  REQUIRE(missing);
  CHECK(missing->code == ErrorCode::kMisconfigured);
  CHECK(missing->message == "hook fault-1 ended with 127: its command was not found");
  CHECK(hook_failure("fault-1", 126)->code == ErrorCode::kMisconfigured);
}

}  // namespace verify_driver_test
