// SPDX-License-Identifier: Apache-2.0
// recipe=simple: the lock is one node, and the next holder's has the same name.
#include <doctest/doctest.h>

#include "backends/zookeeper/admin.h"
#include "backends/zookeeper/lock/lock.h"
#include "tests/unit/zookeeper/lock_world.h"

namespace dlock::zookeeper::lock_test {

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

}  // namespace dlock::zookeeper::lock_test
