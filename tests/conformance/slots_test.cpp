// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/conformance/fixture.h"
#include "tests/conformance/skips.h"
#include "tests/support/acquisition.h"
#include "tests/support/helper_process.h"

namespace dlock::testing::slots_test {
namespace {

LockSpec named(LockSpec spec, std::vector<std::string> slots) {
  spec.permits = static_cast<int>(slots.size());
  spec.slots = std::move(slots);
  return spec;
}

LockSpec inside(const HeldLock& outer, LockSpec spec) {
  spec.ancestor = HeldClaim{outer.owner, outer.token, outer.secret};
  return spec;
}

/// What inspect says of the slot of this token; "?" if there is no such holder.
std::string slot_seen(LockAdmin& store, const std::string& key, FencingToken token) {
  const auto state = store.inspect(name(key));
  if (!state) return "?";
  for (const Participant& holder : state->holders) {
    if (holder.token == token) return holder.slot;
  }
  return "?";
}

}  // namespace

TEST_CASE("a permit comes with the lowest slot that no other holder has, and inspect shows it") {
  on_every_backend("slots", [](World& w) {
    if (skips(w, !w.fixture.permits, "no permits")) return;
    Acquisition zero(w.a, permits(w.key, 3));
    Acquisition one(w.b, permits(w.key, 3));
    const HeldLock of_zero = zero.held();
    const HeldLock of_one = one.held();
    Acquisition two(w.a, permits(w.key, 3));
    CHECK(std::set<std::string>{of_zero.slot, of_one.slot} == std::set<std::string>{"0", "1"});
    CHECK(two.held().slot == "2");
    CHECK(slot_seen(w.b, w.key, of_zero.token) == of_zero.slot);
    CHECK(slot_seen(w.b, w.key, of_one.token) == of_one.slot);
    Acquisition next(w.b, permits(w.key, 3));
    CHECK(next.stays_quiet());
    one.release();
    CHECK(next.held().slot == of_one.slot);
    next.release();
    zero.release();
    Acquisition lowest(w.a, permits(w.key, 3));
    CHECK(lowest.held().slot == "0");
    lowest.release();
    two.release();
    Acquisition alone(w.a, exclusive(w.key));
    CHECK(alone.held().slot.empty());
    alone.release();
  });
}

TEST_CASE("slots have the names that were asked for, and holders who chose other names never share one") {
  on_every_backend("slot-names", [](World& w) {
    if (skips(w, !w.fixture.permits, "no permits")) return;
    Acquisition one(w.a, named(permits(w.key, 3), {"db1", "db2", "db3"}));
    CHECK(one.held().slot == "db1");
    Acquisition two(w.b, named(permits(w.key, 3), {"db1", "host:5432/b", "c"}));
    CHECK(two.held().slot == "host:5432/b");
    Acquisition three(w.a, permits(w.key, 3));
    CHECK(three.held().slot == "0");
    one.release();
    Acquisition four(w.b, named(permits(w.key, 3), {"host:5432/b", "0", "x"}));
    CHECK(four.held().slot == "x");
    for (Acquisition* each : {&two, &three, &four}) each->release();
  });
}

TEST_CASE("holders that come and go at the same moment never share a slot, and no slot is left unused") {
  on_every_backend("slot-churn", [](World& w) {
    if (skips(w, !w.fixture.permits, "no permits")) return;
    constexpr int kPermits = 3;
    constexpr int kRounds = 6;
    std::vector<std::unique_ptr<HelperProcess>> queue;
    const auto come = [&] {
      queue.push_back(std::make_unique<HelperProcess>(w.fixture.store, permits(w.key, kPermits)));
    };
    for (int i = 0; i < 2 * kPermits; ++i) come();
    for (int round = 0; round < kRounds; ++round) {
      std::set<std::string> slots;
      std::optional<LockState> state;
      REQUIRE(eventually([&] {
        auto seen = w.a.inspect(name(w.key));
        if (!seen || seen->holders.size() != kPermits) return false;
        slots.clear();
        for (const Participant& holder : seen->holders) slots.insert(holder.slot);
        if (slots.contains("")) return false;  // one that has been granted this moment
        state = std::move(*seen);
        return true;
      }));
      CHECK(slots == std::set<std::string>{"0", "1", "2"});
      for (const Participant& holder : state->holders) {  // all at once: those who come next are granted at once
        for (const auto& each : queue) {
          if (each->pid() == holder.pid) each->say("release");
        }
      }
      std::erase_if(queue, [&](const auto& each) {
        return std::any_of(state->holders.begin(), state->holders.end(),
                           [&](const Participant& holder) { return holder.pid == each->pid(); });
      });
      while (queue.size() < 2 * kPermits) come();
    }
  });
}

TEST_CASE("the slot of a holder that is killed goes to the next one together with its permit") {
  on_every_backend("slot-killed", [](World& w) {
    if (skips(w, !w.fixture.permits, "no permits")) return;
    HelperProcess one(w.fixture.store, permits(w.key, 2));
    const std::string slot = slot_seen(w.a, w.key, one.granted());
    HelperProcess two(w.fixture.store, permits(w.key, 2));
    CHECK(slot_seen(w.a, w.key, two.granted()) != slot);
    Acquisition next(w.b, permits(w.key, 2));
    CHECK(next.stays_quiet());
    one.kill();
    CHECK(next.held().slot == slot);
    next.release();
  });
}

TEST_CASE("a slot outlasts renewals and the process that took it, and its release frees it") {
  on_every_backend("slot-lease", [](World& w) {
    if (skips(w, !w.fixture.permits, "no permits")) return;
    LockSpec spec = renewed_soon(permits(w.key, 2));
    HelperProcess taker(w.fixture.store, spec);
    const FencingToken token = taker.granted();
    CHECK(slot_seen(w.a, w.key, token) == "0");
    taker.say("detach-ttl 60000");
    REQUIRE(taker.line() == "detached");
    taker.kill();
    REQUIRE(w.a.renew(name(w.key), spec.owner, std::chrono::seconds(50)));
    CHECK(slot_seen(w.a, w.key, token) == "0");
    Acquisition other(w.b, permits(w.key, 2));
    CHECK(other.held().slot == "1");
    REQUIRE(w.a.release(name(w.key), spec.owner));
    Acquisition next(w.b, permits(w.key, 2));
    CHECK(next.held().slot == "0");
    next.release();
    other.release();
  });
}

TEST_CASE("after a force-release slots begin anew, whatever those do who held them") {
  on_every_backend("slot-forced", [](World& w) {
    if (skips(w, !w.fixture.permits, "no permits")) return;
    Acquisition one(w.a, renewed_soon(permits(w.key, 2)));
    Acquisition two(w.b, renewed_soon(permits(w.key, 2)));
    one.held();
    two.held();
    const auto shown = w.a.inspect(name(w.key));
    REQUIRE(shown);
    REQUIRE(w.a.force_release(name(w.key), *shown, ""));
    Acquisition next(w.b, permits(w.key, 2));
    CHECK(next.held().slot == "0");
    CHECK(one.wait_for<Lost>());
    CHECK(two.wait_for<Lost>());
    next.release();
  });
}

TEST_CASE("an inner acquisition has the slot of the hold that it joins; for another number of permits it joins none") {
  on_every_backend("slot-inside", [](World& w) {
    if (skips(w, !w.fixture.permits, "no permits")) return;
    Acquisition other(w.a, permits(w.key, 3));
    other.held();
    Acquisition outer(w.a, permits(w.key, 3));
    const HeldLock held = outer.held();
    CHECK(held.slot == "1");
    Acquisition inner(w.b, inside(held, permits(w.key, 3)));
    const HeldLock joined = inner.held();
    CHECK(joined.reentered);
    CHECK(joined.slot == "1");
    Acquisition fewer(w.b, inside(held, permits(w.key, 2)));
    const auto refused = fewer.wait_for<Refused>();
    REQUIRE(refused);
    CHECK(refused->error.code == ErrorCode::kConflict);
    outer.release();
    CHECK(slot_seen(w.a, w.key, held.token) == "1");
    Acquisition next(w.a, permits(w.key, 3));
    CHECK(next.held().slot == "2");
    next.release();
    inner.release();
    other.release();
  });
}

}  // namespace dlock::testing::slots_test
