// SPDX-License-Identifier: Apache-2.0
// Locks that are left without a process, and what becomes of them when that fails.
#include <doctest/doctest.h>

#include <algorithm>

#include "backends/zookeeper/admin.h"
#include "backends/zookeeper/lock/lock.h"
#include "backends/zookeeper/lock/session_takeover.h"
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
        const auto left = lock->leave({ttl}, world.clock.now() + 4s);
        REQUIRE_FALSE(left);
        CHECK(left.error().code == ErrorCode::kUnavailable);
        CHECK(left.error().message.find("its session ends") != std::string::npos);
        if (comes_back) world.at(7s, [&] { world.ensemble.start(); });
        const auto released = lock->release(world.clock.now() + 10s);
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
      const auto left = lock->leave({0s}, world.clock.now() + 4s);
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

/// recipe=simple: the next holder's node has the same name.
TEST_CASE("Whenever in a release somebody else comes to hold the one node, that is left alone") {
  for (int n = 1;; ++n) {
    CAPTURE(n);
    World world;
    const auto lock = world.lock(spec_of(), "simple");
    REQUIRE(granted(lock->acquire(world.supervisor)));
    auto* const session = world.ensemble.sessions.back();
    const auto next = world.lock(spec_of(), "simple");
    int requests = 0;
    world.ensemble.before_each = [&](FakeEnsemble::FakeSession& asking, const Request&) {
      if (asking.id() != session->id() || ++requests != n) return;
      world.ensemble.remove("/app/k");
      REQUIRE(granted(next->acquire(world.supervisor)));
    };
    const auto released = lock->release(world.clock.now() + 3s);
    if (requests < n) {
      CHECK(released);
      CHECK_FALSE(world.ensemble.nodes.contains("/app/k"));
      break;
    }
    world.ensemble.before_each = nullptr;
    CHECK(world.ensemble.nodes.contains("/app/k"));
    CHECK(std::holds_alternative<RenewalRenewed>(next->renew(world.supervisor, world.clock.now() + 1s)));
  }
}

TEST_CASE("Whenever in a force-release somebody else comes to hold the one node, that is left alone") {
  for (const char* by : {"", "ops: it hangs"}) {
    for (int n = 1;; ++n) {
      CAPTURE(by);
      CAPTURE(n);
      World world;
      const auto lock = world.lock(spec_of(), "simple");
      REQUIRE(granted(lock->acquire(world.supervisor)));
      const auto next = world.lock(spec_of(), "simple");
      const auto url = BackendUrl::parse("zk://127.0.0.1/app?recipe=simple");
      ZookeeperAdmin operators(
          *Ensemble::of(*url, world.clock, [&](const SessionSettings& s) { return world.ensemble.open(s); }),
          {world.clock, world.log});
      const auto shown = operators.inspect(spec_of().name);
      REQUIRE(shown);
      REQUIRE(shown->holders.size() == 1);
      bool done = false;
      int requests = 0;
      world.ensemble.before_each = [&](const auto&, const Request&) {
        if (done || ++requests != n) return;
        done = true;
        world.ensemble.remove("/app/k");
        REQUIRE(granted(next->acquire(world.supervisor)));
      };
      const auto freed = operators.force_release(spec_of().name, *shown, by);
      if (!done) {
        CHECK(freed);
        CHECK_FALSE(world.ensemble.nodes.contains("/app/k"));
        break;
      }
      CHECK_FALSE(freed);
      CHECK(world.ensemble.nodes.contains("/app/k"));
      CHECK(std::holds_alternative<RenewalRenewed>(next->renew(world.supervisor, world.clock.now() + 1s)));
    }
  }
}

TEST_CASE("Whenever in the end of a lease somebody else comes to hold the one node, that is left alone") {
  for (int n = 1;; ++n) {
    CAPTURE(n);
    World world;
    const LockSpec spec = spec_of();
    const auto lock = world.lock(spec, "simple");
    const auto answer = lock->acquire(world.supervisor);
    REQUIRE(granted(answer));
    const std::int64_t id = world.ensemble.sessions.back()->id();
    world.ensemble.sessions.back()->abandoned = true;  // it goes on without a process
    const DetachedLease lease{spec.name, spec.owner, "",        {id, "password"}, granted(answer)->locks[0].token,
                              0s,        45s,        {"/app/k"}};
    const auto next = world.lock(spec_of(), "simple");
    int requests = 0;
    world.ensemble.before_each = [&](FakeEnsemble::FakeSession& asking, const Request&) {
      if (asking.id() != id || ++requests != n) return;
      world.ensemble.remove("/app/k");
      REQUIRE(granted(next->acquire(world.supervisor)));
    };
    const auto url = BackendUrl::parse("zk://127.0.0.1/app?recipe=simple");
    auto ensemble = *Ensemble::of(*url, world.clock, [&](const SessionSettings& s) { return world.ensemble.open(s); });
    const auto ended = end_lease(ensemble, lease, world.clock.now() + 3s);
    CHECK(world.ensemble.nodes.contains("/app/k") == (requests >= n));
    if (requests < n) break;
  }
}

}  // namespace dlock::zookeeper::lock_test
