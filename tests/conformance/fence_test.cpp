// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/conformance/fixture.h"
#include "tests/conformance/skips.h"
#include "tests/support/acquisition.h"
#include "tests/support/stores.h"

namespace dlock::testing::fence_test {

using std::chrono::milliseconds;

TEST_CASE("a fence lets the highest token pass, the same one again, and no lower one ever after") {
  on_every_backend("fence", [](World& w) {
    if (skips(w, !w.fixture.tokens, "no tokens")) return;
    const LockName resource = name(w.key);
    REQUIRE(w.a.fence(resource, FencingToken(10), {}));
    REQUIRE(w.b.fence(resource, FencingToken(10), {}));
    const auto low = w.b.fence(resource, FencingToken(9), {});
    REQUIRE_FALSE(low);
    CHECK(low.error().code == ErrorCode::kLost);
    CHECK(low.error().message.find("token 9 is too old for " + resource.text() + ": 10 was already seen") !=
          std::string::npos);
    REQUIRE(w.a.fence(resource, FencingToken(11), {}));
    CHECK_FALSE(w.b.fence(resource, FencingToken(10), {}));
    REQUIRE(connect_store(w.fixture.store)->fence(resource, FencingToken(11), {}));
    REQUIRE(w.b.fence(name(w.key + "/other"), FencingToken(1), {}));
  });
}

TEST_CASE("an open fence keeps other checks of its resource out, within their wait") {
  on_every_backend("fence-open", [](World& w) {
    if (skips(w, !w.fixture.fence_stays_open, "a fence does not stay open")) return;
    const LockName resource = name(w.key);
    auto open = w.a.fence(resource, FencingToken(5), {});
    REQUIRE(open);
    WaitPolicy at_once;
    at_once.once = true;
    const auto busy = w.b.fence(resource, FencingToken(6), at_once);
    REQUIRE_FALSE(busy);
    CHECK(busy.error().code == ErrorCode::kBusy);
    WaitPolicy bounded;
    bounded.until = SystemClock().now() + milliseconds(50);
    const auto late = w.b.fence(resource, FencingToken(6), bounded);
    REQUIRE_FALSE(late);
    CHECK(late.error().code == ErrorCode::kBusy);
    open->reset();
    CHECK(w.b.fence(resource, FencingToken(6), at_once));
  });
}

}  // namespace dlock::testing::fence_test
