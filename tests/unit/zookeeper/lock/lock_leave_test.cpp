// SPDX-License-Identifier: Apache-2.0
// Locks that are left without a process, and what becomes of them when that fails.
#include <doctest/doctest.h>

#include <algorithm>

#include "backends/zookeeper/lock/lock.h"
#include "tests/unit/zookeeper/lock_world.h"

namespace dlock::zookeeper::lock_test {

TEST_CASE("A lock that could not be left without a process is given back when a server is there again") {
  for (const char* recipe : kRecipes) {
    for (const Duration ttl : {0s, 20s}) {
      for (const bool comes_back : {false, true}) {
        CAPTURE(recipe);
        CAPTURE(comes_back);
        World world;
        LockSpec spec = spec_of();
        spec.lock_delay = 5s;
        const auto lock = world.lock(spec, recipe);
        REQUIRE(granted(lock->acquire(world.supervisor)));
        world.ensemble.stop();
        const auto left = lock->leave(ttl, world.clock.now() + 4s);
        REQUIRE_FALSE(left);
        CHECK(left.error().code == ErrorCode::kUnavailable);
        CHECK(left.error().message.find("its session ends") != std::string::npos);
        if (comes_back) world.at(7s, [&] { world.ensemble.start(); });
        const auto released = lock->release(world.clock.now() + 10s);
        CHECK_FALSE(lock->is_still_entered());
        if (comes_back) {
          CHECK(released);
          for (const auto& [path, node] : world.ensemble.nodes) CHECK(node.stat.ephemeral_owner == 0);
        } else {
          REQUIRE_FALSE(released);
          CHECK(released.error().code == ErrorCode::kUnavailable);
        }
      }
    }
  }
}

TEST_CASE("Whatever reply is lost, a lock is left to its lock-delay, or can be given back") {
  for (const char* recipe : kRecipes) {
    for (int n = 1;; ++n) {
      CAPTURE(recipe);
      CAPTURE(n);
      World world;
      LockSpec spec = spec_of();
      spec.lock_delay = 5s;
      auto lock = world.lock(spec, recipe);
      REQUIRE(granted(lock->acquire(world.supervisor)));
      world.ensemble.requests = 0;
      world.ensemble.before_each = [&](auto&, const auto&) {
        if (world.ensemble.requests == n) world.ensemble.stop();
      };
      const auto left = lock->leave(0s, world.clock.now() + 4s);
      const bool all = world.ensemble.requests < n;
      world.ensemble.before_each = nullptr;
      world.ensemble.start();
      if (!left) CHECK(lock->release(world.clock.now() + 4s));
      lock.reset();
      const auto kept = std::count_if(world.ensemble.nodes.begin(), world.ensemble.nodes.end(),
                                      [](const auto& one) { return one.second.stat.ephemeral_owner != 0; });
      CHECK((kept > 0) == bool(left));
      if (all) break;
    }
  }
}

}  // namespace dlock::zookeeper::lock_test
