// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <set>

#include "lib/lock/lease.h"
#include "tests/unit/zookeeper/lock_world.h"

namespace dlock::zookeeper::lock_test {

TEST_CASE("A session that wants to be looked at keeps its time while its lock is waited for, and while it is held") {
  World world;
  const auto first = world.lock(spec_of());
  REQUIRE(granted(first->acquire(world.supervisor)));
  LockSpec spec = spec_of();
  spec.wait.until = FakeClock::start() + 1000s;
  int looks = 0;
  Duration longest{0};
  world.ensemble.before_each = [&](FakeEnsemble::FakeSession& session, const Request&) {
    if (session.looked_at) return;
    session.due = world.clock.now() + 10s;
    session.looked_at = [&] {
      longest = std::max(longest, world.clock.now() + 10s - *session.due);
      if (world.clock.now() >= *session.due) ++looks;
      session.due = world.clock.now() + 10s;
    };
  };
  world.at(105s, [&] { REQUIRE(first->release(world.clock.now() + 1s)); });
  const auto second = world.lock(spec);
  REQUIRE(granted(second->acquire(world.supervisor)));
  CHECK(looks >= 10);
  CHECK(longest == 10s);
  const TimePoint due = world.clock.now() + 10s;
  CHECK(std::holds_alternative<RenewalHeld>(second->held(*second->wake_at())));  // its first watch
  world.clock.advance(1s);
  CHECK(std::holds_alternative<RenewalHeld>(second->held(world.clock.now())));
  CHECK(*second->wake_at() > due);
  CHECK(*second->wake_at() <= world.clock.now() + 10s);
}

TEST_CASE("A renewal counts from before its sync went out, and one without an answer moves nothing") {
  World world;
  const auto lock = world.lock(spec_of());
  REQUIRE(granted(lock->acquire(world.supervisor)));
  world.clock.advance(10s);
  const auto renewed = lock->renew(world.supervisor, world.clock.now() + 1s);
  REQUIRE(std::holds_alternative<RenewalRenewed>(renewed));
  CHECK(std::get<RenewalRenewed>(renewed).deadline == lease_deadline(world.clock.now(), kTtl));
  world.ensemble.lose_reply_of = world.ensemble.requests + 1;
  CHECK(std::holds_alternative<RenewalUnknown>(lock->renew(world.supervisor, world.clock.now() + 1s)));
}

TEST_CASE(
    "A renewal of nodes that are watched is one request, and asks for them when the watch may have missed something") {
  for (const char* recipe : kRecipes) {
    CAPTURE(recipe);
    World world;
    const auto lock = world.lock(spec_of(), recipe);
    REQUIRE(granted(lock->acquire(world.supervisor)));
    const auto requests = [&] {
      const int before = world.ensemble.requests;
      CHECK(std::holds_alternative<RenewalRenewed>(lock->renew(world.supervisor, world.clock.now() + 1s)));
      return world.ensemble.requests - before;
    };
    const auto settle = [&] {
      if (lock->wake_at()) world.clock.advance(std::max(Duration(0), *lock->wake_at() - world.clock.now()));
      for (int i = 0; i < 9; ++i) CHECK(std::holds_alternative<RenewalHeld>(lock->held(world.clock.now())));
    };
    const int whole = requests();
    CHECK(whole > 1);
    settle();
    CHECK(requests() == 1);
    const int written = world.ensemble.requests + 1;
    world.ensemble.before_each = [&](FakeEnsemble::FakeSession& session, const Request&) {
      if (world.ensemble.requests != written) return;
      for (auto& [path, node] : world.ensemble.nodes) {
        if (node.stat.ephemeral_owner == session.id()) world.ensemble.write(path, node.data);
      }
    };
    CHECK(requests() == 1 + whole);  // changed just before the sync was answered
    settle();
    CHECK(requests() == 1);
    world.ensemble.lose_reply_of = world.ensemble.requests + 1;
    CHECK(std::holds_alternative<RenewalUnknown>(lock->renew(world.supervisor, world.clock.now() + 1s)));
    CHECK(requests() == whole);
  }
}

TEST_CASE("Once in a ttl a holder asks for one of the nodes that it watches, for each in its turn") {
  for (const char* recipe : kRecipes) {
    CAPTURE(recipe);
    World world;
    const auto lock = world.lock(spec_of(), recipe);
    REQUIRE(granted(lock->acquire(world.supervisor)));
    if (lock->wake_at()) world.clock.advance(std::max(Duration(0), *lock->wake_at() - world.clock.now()));
    for (int i = 0; i < 9; ++i) CHECK(std::holds_alternative<RenewalHeld>(lock->held(world.clock.now())));
    std::set<std::string> asked;
    world.ensemble.before_each = [&](auto& /*session*/, const Request& request) {
      if (request.kind == Request::Kind::kExists) CHECK(asked.insert(request.path).second);
    };
    const auto renew = [&] { return lock->renew(world.supervisor, world.clock.now() + 1s); };
    std::set<std::string> ours;
    for (const auto& [path, node] : world.ensemble.nodes) {
      if (node.stat.ephemeral_owner == 0) continue;
      ours.insert(path);
      CHECK(std::holds_alternative<RenewalRenewed>(renew()));
      CHECK(asked.size() == ours.size() - 1);
      world.clock.advance(spec_of().ttl);
      CHECK(std::holds_alternative<RenewalRenewed>(renew()));
    }
    CHECK(asked == ours);
  }
}

TEST_CASE("A server that does not answer a renewal in time is left for another one, with the same session") {
  World world;
  const auto lock = world.lock(spec_of());
  REQUIRE(granted(lock->acquire(world.supervisor)));
  FakeEnsemble::FakeSession& session = *world.ensemble.sessions.back();
  session.silent = true;
  CHECK(std::holds_alternative<RenewalUnknown>(lock->renew(world.supervisor, world.clock.now() + 5s)));
  CHECK(session.reconnected == 1);
  session.silent = false;
  CHECK(std::holds_alternative<RenewalRenewed>(lock->renew(world.supervisor, world.clock.now() + 5s)));
  CHECK(session.reconnected == 1);
}

TEST_CASE("A holder is told when one of its nodes is deleted, and by the next renewal if a watch was lost") {
  World world;
  const auto lock = world.lock(spec_of());
  REQUIRE(granted(lock->acquire(world.supervisor)));
  REQUIRE(lock->wake_at());
  SUBCASE("by its watch") {
    world.clock.advance(*lock->wake_at() - world.clock.now());
    CHECK(std::holds_alternative<RenewalHeld>(lock->held(world.clock.now())));
    world.ensemble.remove("/app/k/" + world.ensemble.children("/app/k").front());
    Renewal answer = lock->held(world.clock.now());
    for (int i = 0; i < 3 && std::holds_alternative<RenewalHeld>(answer); ++i) answer = lock->held(world.clock.now());
    CHECK(std::holds_alternative<RenewalLost>(answer));
  }
  SUBCASE("by a renewal") {
    world.ensemble.remove("/app/k/" + world.ensemble.children("/app/k").front());
    CHECK(std::holds_alternative<RenewalLost>(lock->renew(world.supervisor, world.clock.now() + 1s)));
  }
}

TEST_CASE("Whoever writes __REVOKE__ into a node asks for the lock, which stays held until it is given back") {
  World world;
  const auto lock = world.lock(spec_of());
  REQUIRE(granted(lock->acquire(world.supervisor)));
  world.ensemble.nodes.at("/app/k/" + world.ensemble.children("/app/k").front()).data = "__REVOKE__";
  world.clock.advance(1s);
  Renewal answer = lock->held(world.clock.now());
  for (int i = 0; i < 3 && std::holds_alternative<RenewalHeld>(answer); ++i) answer = lock->held(world.clock.now());
  CHECK(std::holds_alternative<RevocationRequested>(answer));
  CHECK(world.ensemble.children("/app/k").size() == 1);
}

}  // namespace dlock::zookeeper::lock_test
