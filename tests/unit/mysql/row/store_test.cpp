// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/row/store.h"

#include <doctest/doctest.h>

namespace dlock::mysql::row_store_test {
namespace {

using namespace std::chrono_literals;

TEST_CASE("the times of a row are shown on our clock, however far the server's is from it") {
  for (const auto behind : {-3600s, -60s, 0s, 60s}) {
    CAPTURE(behind.count());
    const WallTime now(1'000'000s);
    const StoreTime theirs = std::chrono::microseconds(now.time_since_epoch() - behind).count();
    RowStore::State reading;
    reading.now = theirs;
    reading.holder = RowStore::Holder{
        .owner = "o", .token = 7, .since = theirs - 5'000'000, .until = theirs + 25'000'000, .who = ""};
    const LockState state = row_state(reading, *LockName::parse("k"), "s", now - 2ms, now + 2ms);
    REQUIRE(state.holders.size() == 1);
    CHECK(state.holders[0].since == now - 5s);
    CHECK(state.holders[0].until == now + 25s);
  }
}

}  // namespace
}  // namespace dlock::mysql::row_store_test
