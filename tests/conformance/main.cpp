// SPDX-License-Identifier: Apache-2.0
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "tests/conformance/fixture.h"
#include "tests/support/helper_process.h"

int main(int argc, char** argv) {
  if (const auto status = dlock::testing::helper_main(argc, argv, dlock::testing::connect)) return *status;
  doctest::Context context(argc, argv);
  const int failed = context.run();
  dlock::testing::fixtures().clear();
  return failed;
}
