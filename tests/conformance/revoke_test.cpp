// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/conformance/fixture.h"
#include "tests/conformance/skips.h"
#include "tests/support/acquisition.h"

namespace dlock::testing::revoke_test {

using namespace std::chrono_literals;

constexpr char kDeaf[] = "holders cannot be asked to end";

/// What a holder hears of, without having lost the lock.
bool hears(Acquisition& holder, const std::string& by) {
  const auto lost = holder.wait_for<Lost>();
  REQUIRE(lost);
  CHECK_FALSE(lost->final);
  CHECK(lost->by == by);
  return lost->by == by;
}

TEST_CASE("a holder that is asked to end hears by whom, and has the lock until it releases it") {
  on_every_backend("revoke", [](World& w) {
    if (skips(w, !w.fixture.revokes, kDeaf)) return;
    Acquisition holder(w.a, renewed_soon(exclusive(w.key)));
    const HeldLock held = holder.held();
    const auto shown = w.b.inspect(name(w.key));
    REQUIRE(shown);
    REQUIRE(w.b.revoke(name(w.key), *shown, "deploy@ci-4: release 2.5"));
    CHECK(hears(holder, "deploy@ci-4: release 2.5"));
    const auto still = w.b.inspect(name(w.key));
    REQUIRE(still);
    REQUIRE(still->holders.size() == 1);
    CHECK(still->holders.front().owner == held.owner.text());
    CHECK(still->holders.front().revoked == "deploy@ci-4: release 2.5");
    Acquisition other(w.b, once(exclusive(w.key)));
    CHECK(other.wait_for<Refused>());
    CHECK(w.b.revoke(name(w.key), *shown, "ops@ci-5"));  // again: what was heard first stays
    CHECK_FALSE(holder.wait_for<Lost>(300ms));
    holder.release();
    const auto gone = w.b.revoke(name(w.key), *shown, "ops@ci-5");
    REQUIRE_FALSE(gone);
    CHECK(gone.error().code == ErrorCode::kConflict);
    Acquisition next(w.b, exclusive(w.key));
    CHECK(w.fixture.grows(held.token, next.held().token));
    CHECK(next.stays_quiet(300ms));  // nobody has asked this one
    next.release();
  });
}

TEST_CASE("a hold that is asked to end is renewed until it is released") {
  on_every_backend("revoke-renewed", [](World& w) {
    if (skips(w, !w.fixture.revokes, kDeaf)) return;
    LockSpec spec = renewed_soon(exclusive(w.key));
    spec.ttl = scaled(3s);
    Acquisition holder(w.a, spec);
    const auto granted = holder.wait_for<Granted>();
    REQUIRE(granted);
    const auto shown = w.b.inspect(name(w.key));
    REQUIRE(shown);
    REQUIRE(w.b.revoke(name(w.key), *shown, "ops@ci-5"));
    CHECK(hears(holder, "ops@ci-5"));
    Acquisition next(w.b, exclusive(w.key));
    if (granted->deadline) CHECK_MESSAGE(holder.wait_for<Renewed>(scaled(4s)), holder.last());
    CHECK(next.stays_quiet());
    holder.release();
    next.held();
    next.release();
  });
}

TEST_CASE("each of several shared holders is asked to end") {
  on_every_backend("revoke-shared", [](World& w) {
    if (skips(w, !w.fixture.revokes, kDeaf) || skips(w, !w.fixture.shared, "no readers")) return;
    Acquisition one(w.a, renewed_soon(shared(w.key)));
    Acquisition two(w.a, renewed_soon(shared(w.key)));
    one.held();
    two.held();
    auto shown = w.b.inspect(name(w.key));
    REQUIRE(shown);
    REQUIRE(shown->holders.size() == 2);
    REQUIRE(w.b.revoke(name(w.key), *shown, "ops@ci-5"));
    CHECK(hears(one, "ops@ci-5"));
    CHECK(hears(two, "ops@ci-5"));
    one.release();
    two.release();
  });
}

TEST_CASE("a lock whose holders cannot be asked says so") {
  on_every_backend("revoke-not", [](World& w) {
    if (w.fixture.revokes) return;
    Acquisition holder(w.a, exclusive(w.key));
    holder.held();
    const auto shown = w.b.inspect(name(w.key));
    REQUIRE(shown);
    const auto asked = w.b.revoke(name(w.key), *shown, "ops@ci-5");
    REQUIRE_FALSE(asked);
    CHECK(asked.error().code == ErrorCode::kUnsupported);
    CHECK(holder.stays_quiet(300ms));
    holder.release();
  });
}

}  // namespace dlock::testing::revoke_test
