// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/wire/reply.h"

#include <doctest/doctest.h>

#include <limits>

#include "lib/base/human_text.h"

namespace values_test {

using namespace dlock;
using namespace dlock::redis;
using namespace std::chrono_literals;

TEST_CASE("Whatever end another client has chosen for its key: it lies ahead, and can be shown") {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  CHECK(lease_left(-1) == std::nullopt);
  CHECK(lease_left(-2) == Duration(0));
  CHECK(lease_left(2500) == 2500ms);
  for (const std::int64_t pttl : {std::int64_t{10'000'000'000'000}, kMost}) CHECK(lease_left(pttl) == kLongestDuration);
  CHECK(rfc3339(from_ms(1'500)) == "1970-01-01T00:00:01.500Z");
  CHECK(rfc3339(from_ms(kMost)) == "2262-04-11T23:47:16.854Z");
}

}  // namespace values_test
