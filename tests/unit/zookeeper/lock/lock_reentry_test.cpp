// SPDX-License-Identifier: Apache-2.0
// Holds that are entered from inside, and who frees them.
#include "backends/zookeeper/lock/lock.h"

#include <doctest/doctest.h>

#include "tests/unit/zookeeper/lock_world.h"

namespace dlock::zookeeper::lock_test {
namespace {

struct Outer {
  std::unique_ptr<ZookeeperLock> lock;
  LockSpec inside;  ///< of who enters it
};

Outer hold(World& world, const std::string& recipe = "bridge") {
  const LockSpec outer = spec_of();
  auto holder = world.lock(outer, recipe);
  const auto held = holder->acquire(world.supervisor);
  REQUIRE(granted(held));
  LockSpec inside = spec_of();
  inside.ancestor = HeldClaim{outer.owner, granted(held)->locks[0].token};
  return {std::move(holder), inside};
}

/// The first request after an outage finds the connection gone.
bool is_renewed(World& world, ZookeeperLock& lock) {
  for (int i = 0; i < 2; ++i) {
    if (std::holds_alternative<RenewalRenewed>(lock.renew(world.supervisor, world.clock.now() + 1s))) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("A re-entry joins the hold that its claim names, if it is one") {
  World world;
  const LockSpec outer = spec_of();
  const auto holder = world.lock(outer);
  const auto held = holder->acquire(world.supervisor);
  REQUIRE(granted(held));
  LockSpec inner = spec_of();
  inner.wait.once = true;
  inner.ancestor = HeldClaim{outer.owner, granted(held)->locks[0].token};
  const auto joined = world.lock(inner);
  const auto answer = joined->acquire(world.supervisor);
  REQUIRE(granted(answer));
  CHECK(granted(answer)->locks[0].reentered);
  CHECK(world.ensemble.children("/app/k").size() == 3);
  CHECK(joined->release(world.clock.now() + 1s));
  CHECK(world.ensemble.children("/app/k").size() == 3);
  inner.ancestor = HeldClaim{outer.owner, FencingToken(1)};
  const auto stale = world.lock(inner);
  CHECK(refused(stale->acquire(world.supervisor)));
}

TEST_CASE("A hold that was entered outlives its own release; whoever ends last frees it, and its keeper is told") {
  for (const char* recipe : kRecipes) {
    CAPTURE(recipe);
    World world;
    const auto [holder, inside] = hold(world, recipe);
    const auto first = world.lock(inside, recipe);
    REQUIRE(granted(first->acquire(world.supervisor)));
    const auto second = world.lock(inside, recipe);
    REQUIRE(granted(second->acquire(world.supervisor)));
    CHECK(first->release(world.clock.now() + 1s));
    REQUIRE(holder->release(world.clock.now() + 1s));
    CHECK(holder->is_still_entered());
    CHECK(std::holds_alternative<RenewalRenewed>(holder->renew(world.supervisor, world.clock.now() + 1s)));
    CHECK(std::holds_alternative<RenewalHeld>(holder->held(world.clock.now())));
    LockSpec stranger = spec_of();
    stranger.wait.once = true;
    CHECK(refused(world.lock(stranger, recipe)->acquire(world.supervisor)));
    const auto late = world.lock(inside, recipe);  // a dlock inside the one that goes on
    CHECK(granted(late->acquire(world.supervisor))->locks[0].reentered);
    CHECK(late->release(world.clock.now() + 1s));
    CHECK(std::holds_alternative<RenewalHeld>(second->held(world.clock.now())));
    CHECK(second->release(world.clock.now() + 1s));
    CHECK(granted(world.lock(stranger, recipe)->acquire(world.supervisor)));
    CHECK(std::holds_alternative<RenewalLost>(holder->held(world.clock.now())));
  }
}

TEST_CASE("A hold that was entered by somebody who died is given back by its keeper") {
  World world;
  const auto [holder, inside] = hold(world);
  const auto inner = world.lock(inside);
  REQUIRE(granted(inner->acquire(world.supervisor)));
  REQUIRE(holder->release(world.clock.now() + 1s));
  world.ensemble.expire(*world.ensemble.sessions.back());
  CHECK(std::holds_alternative<RenewalLost>(holder->held(world.clock.now())));
  CHECK(world.ensemble.children("/app/k").empty());
}

TEST_CASE("Whatever reply is lost, a hold is entered once and left once, and freed by the last one") {
  for (const char* recipe : {"bridge", "simple"}) {
    for (const bool is_done : {false, true}) {
      for (int n = 1;; ++n) {
        CAPTURE(recipe);
        CAPTURE(is_done);
        CAPTURE(n);
        World world;
        const auto [holder, inside] = hold(world, recipe);
        world.ensemble.requests = 0;
        world.ensemble.lose_reply_of = n;
        world.ensemble.lost_is_done = is_done;
        const auto inner = world.lock(inside, recipe);
        const auto joined = inner->acquire(world.supervisor);
        REQUIRE(granted(joined));
        CHECK(granted(joined)->locks[0].reentered);
        CHECK(world.ensemble.children("/app/%entries/k").size() == 1);
        REQUIRE(holder->release(world.clock.now() + 2s));
        CHECK(holder->is_still_entered());
        CHECK(inner->release(world.clock.now() + 2s));
        for (const auto& [path, node] : world.ensemble.nodes) CHECK(node.stat.ephemeral_owner == 0);
        CHECK(std::holds_alternative<RenewalLost>(holder->held(world.clock.now())));
        if (world.ensemble.requests < n) break;
      }
    }
  }
}

TEST_CASE("Whenever in a release the other one of a hold releases, both succeed, and the lock is free") {
  for (const char* recipe : {"bridge", "simple"}) {
    for (const bool is_holder_slow : {true, false}) {
      for (int n = 1;; ++n) {
        CAPTURE(recipe);
        CAPTURE(is_holder_slow);
        CAPTURE(n);
        World world;
        const auto [holder, inside] = hold(world, recipe);
        const auto inner = world.lock(inside, recipe);
        REQUIRE(granted(inner->acquire(world.supervisor)));
        ZookeeperLock& slow = is_holder_slow ? *holder : *inner;
        ZookeeperLock& quick = is_holder_slow ? *inner : *holder;
        int requests = 0;
        world.ensemble.before_each = [&](const auto&, const auto&) {
          if (++requests == n) CHECK(quick.release(world.clock.now() + 1s));
        };
        CHECK(slow.release(world.clock.now() + 1s));
        if (requests < n) break;
        if (holder->is_still_entered()) CHECK(std::holds_alternative<RenewalLost>(holder->held(world.clock.now())));
        for (const auto& [path, node] : world.ensemble.nodes) CHECK(node.stat.ephemeral_owner == 0);
      }
    }
  }
}

TEST_CASE("Whoever asks for a hold whose own command has ended is heard by those that are inside") {
  World world;
  const auto [holder, inside] = hold(world, "mutex");
  const auto inner = world.lock(inside, "mutex");
  REQUIRE(granted(inner->acquire(world.supervisor)));
  world.clock.advance(1s);
  const auto look = [&] {
    Renewal seen = RenewalHeld{};
    for (int i = 0; i < 3 && std::holds_alternative<RenewalHeld>(seen); ++i) seen = inner->held(world.clock.now());
    return seen;
  };
  CHECK(std::holds_alternative<RenewalHeld>(look()));
  REQUIRE(holder->release(world.clock.now() + 1s));
  CHECK(std::holds_alternative<RenewalHeld>(look()));
  const std::string node = "/app/k/" + world.ensemble.children("/app/k").front();
  world.ensemble.write(node, "__REVOKE__");
  CHECK(std::holds_alternative<RevocationRequested>(look()));
  CHECK(inner->release(world.clock.now() + 1s));
  CHECK(std::holds_alternative<RenewalLost>(holder->held(world.clock.now())));
  CHECK(world.ensemble.children("/app/k").empty());
}

TEST_CASE("A release that no server answers keeps the hold until a look has shown that nobody is inside") {
  for (const char* recipe : {"bridge", "mutex", "semaphore", "simple"}) {
    for (const bool is_entered : {true, false}) {
      for (int n = 1;; ++n) {
        CAPTURE(recipe);
        CAPTURE(is_entered);
        CAPTURE(n);
        World world;
        const auto [holder, inside] = hold(world, recipe);
        const auto inner = world.lock(inside, recipe);
        if (is_entered) REQUIRE(granted(inner->acquire(world.supervisor)));
        int requests = 0;
        world.ensemble.before_each = [&](const auto&, const auto&) {
          if (++requests == n) world.ensemble.stop();
        };
        const auto released = holder->release(world.clock.now() + 3s);
        if (requests < n) break;
        world.ensemble.before_each = nullptr;
        world.ensemble.start();
        if (is_entered) {
          CHECK(holder->is_still_entered());
          world.clock.advance(1s);
          CHECK(is_renewed(world, *holder));
          CHECK(std::holds_alternative<RenewalHeld>(holder->held(world.clock.now())));
          CHECK(is_renewed(world, *inner));
          CHECK(inner->release(world.clock.now() + 1s));
        }
        if (!released && !holder->is_still_entered()) continue;  // simple: nobody was inside, and the session is left
        if (holder->is_still_entered()) {
          world.clock.advance(1s);
          CHECK(std::holds_alternative<RenewalLost>(holder->held(world.clock.now())));
        }
        for (const auto& [path, node] : world.ensemble.nodes) CHECK(node.stat.ephemeral_owner == 0);
      }
    }
  }
}

TEST_CASE("A hold that may have been entered is not closed by the end of its lease") {
  World world;
  auto [holder, inside] = hold(world);
  const auto inner = world.lock(inside);
  REQUIRE(granted(inner->acquire(world.supervisor)));
  world.ensemble.stop();
  CHECK_FALSE(holder->release(world.clock.now() + 3s));
  world.ensemble.start();
  holder.reset();
  CHECK(is_renewed(world, *inner));
}

}  // namespace dlock::zookeeper::lock_test
