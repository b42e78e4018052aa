// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/last_reason.h"

#include <doctest/doctest.h>

namespace dlock {
namespace {

using namespace std::chrono_literals;

TEST_CASE("the reason of many attempts is that of the last one which the time did not cut short") {
  const TimePoint until{10s};
  const Error refused{ErrorCode::kUnavailable, "read-only"};
  const Error gone{ErrorCode::kUnavailable, "connection refused"};
  const Error silent{ErrorCode::kUnavailable, "no answer in time"};
  SUBCASE("several in time") {
    LastReason reason(until);
    CHECK_FALSE(reason.failed(refused, until - 2s));
    CHECK_FALSE(reason.failed(gone, until - 1s));
    CHECK(reason.failed(silent, until)->message == gone.message);
  }
  SUBCASE("the only one took all the time") {
    LastReason reason(until);
    CHECK(reason.failed(silent, until + 1ms)->message == silent.message);
  }
}

}  // namespace
}  // namespace dlock
