// SPDX-License-Identifier: Apache-2.0
// Places in the queue that nobody waits in any more: none is left behind in a session that goes on.
#include <doctest/doctest.h>

#include "backends/zookeeper/lock/lock.h"
#include "tests/unit/zookeeper/lock_world.h"

namespace dlock::zookeeper::lock_test {
namespace {

std::size_t nodes_of_sessions(const World& world) {
  std::size_t count = 0;
  for (const auto& [path, node] : world.ensemble.nodes) count += node.stat.ephemeral_owner != 0 ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("Whose tries are counted leaves the queue in each pause, also if no server was there at its begin") {
  for (const char* recipe : kRecipes) {
    for (int n = 1;; ++n) {
      CAPTURE(recipe);
      CAPTURE(n);
      World world;
      const auto holder = world.lock(spec_of(), recipe);
      REQUIRE(granted(holder->acquire(world.supervisor)));
      const auto before = nodes_of_sessions(world);
      std::size_t in_pause = 0;
      int requests = 0;
      const auto free_it = [&] {
        in_pause = nodes_of_sessions(world);
        CHECK(holder->release(world.clock.now() + 1s));
      };
      world.at(9s, free_it);
      world.ensemble.before_each = [&](auto&, const auto&) {
        if (world.clock.since_start() > 0s || ++requests != n) return;
        world.ensemble.stop();
        world.at(2s, [&] {
          world.ensemble.start();
          world.at(9s, free_it);
        });
      };
      LockSpec spec = spec_of();
      spec.wait.tries = 3;
      spec.wait.retry_interval = 10s;
      const auto waiter = world.lock(spec, recipe);
      REQUIRE(granted(waiter->acquire(world.supervisor)));
      world.ensemble.before_each = nullptr;
      CHECK(in_pause <= before);
      CHECK(waiter->release(world.clock.now() + 1s));
      CHECK(nodes_of_sessions(world) == 0);
      if (requests < n) break;
    }
  }
}

TEST_CASE("A waiter whose place is deleted joins the queue again, whatever reply is lost") {
  for (const bool is_lost : {false, true}) {
    CAPTURE(is_lost);
    World world;
    const auto holder = world.lock(spec_of());
    REQUIRE(granted(holder->acquire(world.supervisor)));
    const auto held = world.ensemble.children("/app/k");
    world.at(1s, [&] {
      for (const std::string& name : world.ensemble.children("/app/k")) {
        if (name != held.front()) world.ensemble.remove("/app/k/" + name);
      }
      if (is_lost) world.ensemble.lose_reply_of = world.ensemble.requests + 1;
      world.at(40s, [&] { CHECK(holder->release(world.clock.now() + 5s)); });
    });
    LockSpec spec = spec_of();
    spec.wait.until = world.clock.now() + 1000s;
    const auto waiter = world.lock(spec);
    REQUIRE(granted(waiter->acquire(world.supervisor)));
    CHECK(world.clock.since_start() >= 40s);
    CHECK(world.clock.since_start() < 41s);
    CHECK(world.ensemble.children("/app/k").size() == 1);
  }
}

TEST_CASE("A list that is older than our node does not make a second one: a single try has the free lock") {
  World world;
  std::map<std::string, FakeEnsemble::Node> all;
  bool is_old = false;
  world.ensemble.before_each = [&](const auto&, const Request& request) {
    if (!all.empty()) world.ensemble.nodes = std::exchange(all, {});
    if (is_old || request.kind != Request::Kind::kList || nodes_of_sessions(world) == 0) return;
    is_old = true;
    all = world.ensemble.nodes;
    std::erase_if(world.ensemble.nodes, [](const auto& node) { return node.second.stat.ephemeral_owner != 0; });
  };
  LockSpec spec = spec_of();
  spec.wait.tries = 1;
  const auto lock = world.lock(spec);
  REQUIRE(granted(lock->acquire(world.supervisor)));
  CHECK(is_old);
  CHECK(nodes_of_sessions(world) == 1);
}

}  // namespace dlock::zookeeper::lock_test
