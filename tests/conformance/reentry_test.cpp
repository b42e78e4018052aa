// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/conformance/fixture.h"
#include "tests/conformance/skips.h"
#include "tests/support/acquisition.h"
#include "tests/support/helper_process.h"

namespace dlock::testing::reentry_test {
namespace {

using namespace std::chrono_literals;

LockSpec inside(const HeldLock& outer, LockSpec spec) {
  spec.ancestor = HeldClaim{outer.owner, outer.token, outer.secret};
  return spec;
}

}  // namespace

TEST_CASE("an acquisition inside a hold of an ancestor joins it, and whoever ends last frees the lock") {
  on_every_backend("reentry", [](World& w) {
    Acquisition outer(w.a, exclusive(w.key));
    const HeldLock held = outer.held();
    Acquisition inner(w.b, inside(held, exclusive(w.key)));
    const HeldLock again = inner.held();
    CHECK(again.reentered);
    CHECK(again.token == held.token);
    CHECK(again.owner == held.owner);
    Acquisition innermost(w.a, inside(held, exclusive(w.key)));
    CHECK(innermost.held().reentered);
    const auto state = w.b.inspect(name(w.key));
    REQUIRE(state);
    REQUIRE(state->holders.size() == 1);
    Acquisition stranger(w.b, exclusive(w.key));
    CHECK(stranger.stays_quiet());
    innermost.release();
    outer.release();
    CHECK(stranger.stays_quiet());
    if (w.fixture.tokens) CHECK(w.b.check(name(w.key), held.token));
    inner.release();
    CHECK(w.fixture.grows(held.token, stranger.held().token));
    stranger.release();
  });
}

TEST_CASE("an inner process that is killed leaves the outer hold as it is") {
  on_every_backend("reentry-killed", [](World& w) {
    Acquisition outer(w.a, exclusive(w.key));
    const HeldLock held = outer.held();
    HelperProcess inner(w.fixture.store, inside(held, exclusive(w.key)));
    CHECK(inner.line().value_or("nothing").ends_with("reentered"));
    inner.kill();
    Acquisition stranger(w.b, once(exclusive(w.key)));
    CHECK(stranger.wait_for<Refused>());
    outer.release();
    // The keeper of the inner one gives its entry back as soon as it sees the death, and long before the lease is over.
    Acquisition next(w.b, for_at_most(exclusive(w.key), 20s));
    next.held();
    next.release();
  });
}

TEST_CASE("an inner hold survives the death of the outer one") {
  on_every_backend("reentry-orphan", [](World& w) {
    if (skips(w, !w.fixture.freed_at_once, "freed when its ttl is over")) return;
    const LockSpec spec = exclusive(w.key);
    HelperProcess outer(w.fixture.store, spec);
    const FencingToken token = outer.granted();
    LockSpec nested = exclusive(w.key);
    nested.ancestor = HeldClaim{spec.owner, token};
    Acquisition inner(w.a, nested);
    CHECK(inner.held().reentered);
    outer.kill();
    Acquisition stranger(w.b, exclusive(w.key));
    CHECK(stranger.stays_quiet());
    inner.release();
    stranger.held();
    stranger.release();
  });
}

TEST_CASE("a claim that the store does not confirm is ignored") {
  on_every_backend("stale-claim", [](World& w) {
    Acquisition before(w.a, exclusive(w.key));
    const HeldLock old = before.held();
    before.release();
    Acquisition fresh(w.a, inside(old, exclusive(w.key)));
    const HeldLock held = fresh.held();
    CHECK_FALSE(held.reentered);
    CHECK(w.fixture.grows(old.token, held.token));
    Acquisition stale(w.b, once(inside(old, exclusive(w.key))));
    CHECK(stale.wait_for<Refused>());
    HeldLock forged = held;
    forged.owner = Owner::random();
    Acquisition thief(w.b, once(inside(forged, exclusive(w.key))));
    CHECK(thief.wait_for<Refused>());
    fresh.release();
  });
}

TEST_CASE("a force-release takes the lock from the re-entries, too, and ends the claim") {
  on_every_backend("reentry-forced", [](World& w) {
    Acquisition outer(w.a, renewed_soon(exclusive(w.key)));
    const HeldLock held = outer.held();
    Acquisition inner(w.b, renewed_soon(inside(held, exclusive(w.key))));
    inner.held();
    CHECK(outer.stays_quiet(Duration::zero()));
    CHECK(inner.stays_quiet(Duration::zero()));
    const auto shown = w.a.inspect(name(w.key));
    REQUIRE(shown);
    REQUIRE(w.a.force_release(name(w.key), *shown, ""));
    CHECK(outer.wait_for<Lost>());
    CHECK(inner.wait_for<Lost>());
    Acquisition late(w.b, once(inside(held, exclusive(w.key))));
    CHECK_FALSE(late.held().reentered);
    late.release();
  });
}

TEST_CASE("a re-entry that would wait for itself is refused, and one that needs less joins") {
  on_every_backend("reentry-modes", [](World& w) {
    if (skips(w, !w.fixture.shared, "no readers")) return;
    Acquisition reader(w.a, shared(w.key));
    const HeldLock held = reader.held();
    Acquisition upgrade(w.b, inside(held, exclusive(w.key)));
    const auto refused = upgrade.wait_for<Refused>();
    REQUIRE(refused);
    CHECK(refused->error.code == ErrorCode::kUnsupported);
    Acquisition same(w.b, inside(held, shared(w.key)));
    CHECK(same.held().reentered);
    same.release();
    reader.release();
    Acquisition writer(w.a, exclusive(w.key));
    const HeldLock alone = writer.held();
    Acquisition downgrade(w.b, inside(alone, shared(w.key)));
    CHECK(downgrade.held().reentered);
    downgrade.release();
    writer.release();
  });
}

}  // namespace dlock::testing::reentry_test
