// SPDX-License-Identifier: Apache-2.0
#include "cmd/verify/sandbox.h"

#include <doctest/doctest.h>

namespace verify_sandbox_test {

using namespace dlock;

TEST_CASE("the last message of a log is told without what stands behind it") {
  CHECK(last_message(R"({"event":"note","message":"waiting","next":"see: x"})"
                     "\n"
                     R"({"event":"busy","message":"k is held","next":"see: dlock inspect"})"
                     "\n") == "k is held");
  CHECK(last_message(R"({"event":"unavailable","message":"no answer"})"
                     "\n") == "no answer");
  CHECK(last_message(R"({"event":"denied","message":"it says \"no\" \\ never","next":"x"})") ==
        R"(it says "no" \ never)");
  CHECK(last_message(R"({"message":"cut short)") == "cut short");
}

TEST_CASE("a log that is none is told as it is, and neither is cut within a character") {
  CHECK(last_message("") == "");
  CHECK(last_message("Killed\n") == "Killed\n");
  const std::string long_text = std::string(199, 'x') + "\u00fc and more";
  CHECK(last_message(long_text) == std::string(199, 'x'));
  CHECK(last_message("{\"message\":\"" + long_text + "\"}") == std::string(199, 'x'));
}

}  // namespace verify_sandbox_test
