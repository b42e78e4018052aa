// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/wake_channel.h"

#include <doctest/doctest.h>

namespace dlock::redis::wake_channel_test {

TEST_CASE("a holder that could not open its second connection tries with each renewal, later with every tenth") {
  Deafness deafness;
  for (int i = 0; i < 3; ++i) {
    CHECK(deafness.tries());
    deafness.failed();
  }
  int tries = 0;
  for (int renewals = 0; renewals < 100; ++renewals) tries += deafness.tries() ? 1 : 0;
  CHECK(tries == 10);
  deafness.over();
  CHECK(deafness.tries());
}

}  // namespace dlock::redis::wake_channel_test
