// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/lock/lock.h"

#include <doctest/doctest.h>

#include "lib/lock/lease.h"
#include "tests/unit/zookeeper/lock_world.h"

namespace dlock::zookeeper::lock_test {

TEST_CASE("A free lock costs a creation and a list; its token is the czxid of its node") {
  World world;
  const auto first = world.lock(spec_of());
  REQUIRE(granted(first->acquire(world.supervisor)));
  REQUIRE(first->release(world.clock.now() + 1s));
  world.ensemble.requests = 0;
  const auto lock = world.lock(spec_of());
  const auto answer = lock->acquire(world.supervisor);
  REQUIRE(granted(answer));
  CHECK(world.ensemble.requests == 2);
  const auto names = world.ensemble.children("/app/k");
  REQUIRE(names.size() == 1);
  for (const std::string& name : names) {
    CHECK(world.ensemble.nodes.at("/app/k/" + name).stat.czxid == granted(answer)->locks[0].token.value());
  }
  CHECK(*granted(answer)->deadline == lease_deadline(world.clock.now(), kTtl));
  REQUIRE(lock->release(world.clock.now() + 1s));
  CHECK(world.ensemble.requests == 3);
  CHECK(world.ensemble.children("/app/k").empty());
}

TEST_CASE("Whatever reply is lost, a lock is taken once, by one node, and its release leaves nothing") {
  for (const char* recipe : kRecipes) {
    for (const bool is_done : {false, true}) {
      for (int n = 1;; ++n) {
        CAPTURE(recipe);
        CAPTURE(is_done);
        CAPTURE(n);
        World world;
        world.ensemble.lose_reply_of = n;
        world.ensemble.lost_is_done = is_done;
        const auto lock = world.lock(spec_of(), recipe);
        const auto answer = lock->acquire(world.supervisor);
        REQUIRE(granted(answer));
        const FencingToken token = granted(answer)->locks[0].token;
        int ours = 0;
        for (const auto& [path, node] : world.ensemble.nodes) {
          if (node.stat.ephemeral_owner == 0 || path.find("/locks/") != path.npos) continue;
          ++ours;
          CHECK(node.stat.czxid == token.value());
        }
        CHECK(ours == 1);
        CHECK(lock->release(world.clock.now() + 1s));
        for (const auto& [path, node] : world.ensemble.nodes) CHECK(node.stat.ephemeral_owner == 0);
        if (world.ensemble.requests < n) break;
      }
    }
  }
}

TEST_CASE("Whatever another holder of a permit does between two of our requests, two have two slots") {
  for (const bool is_behind : {false, true}) {
    for (int n = 1;; ++n) {
      CAPTURE(is_behind);
      CAPTURE(n);
      World world;
      LockSpec impatient = spec_of(Mode::kPermits);
      impatient.wait.once = true;
      const auto other = world.lock(impatient);
      std::optional<std::string> others;
      world.ensemble.before_each = [&](FakeEnsemble::FakeSession& session, const Request&) {
        if (world.ensemble.requests != n || others) return;
        others = "";
        if (is_behind) world.ensemble.fall_behind(session);
        const auto answer = other->acquire(world.supervisor);
        if (granted(answer)) others = granted(answer)->locks[0].slot;  // else we are at the gate
      };
      const auto lock = world.lock(spec_of(Mode::kPermits));
      const auto answer = lock->acquire(world.supervisor);
      REQUIRE(granted(answer));
      const std::string ours = granted(answer)->locks[0].slot;
      if (!others) {
        CHECK(ours == "0");
        break;
      }
      CHECK(ours != *others);
      CHECK((ours == "0" || *others == "0"));
      if (!others->empty()) CHECK((ours == "1" || *others == "1"));
      CHECK(lock->release(world.clock.now() + 1s));
      if (!others->empty()) CHECK(other->release(world.clock.now() + 1s));
      for (const auto& [path, node] : world.ensemble.nodes) CHECK(node.stat.ephemeral_owner == 0);
    }
  }
}

TEST_CASE("Whatever comes between two requests, who takes a key alone and who takes a permit exclude each other") {
  for (const Mode mode : {Mode::kExclusive, Mode::kPermits}) {
    for (int n = 1;; ++n) {
      CAPTURE(static_cast<int>(mode));
      CAPTURE(n);
      World world;
      LockSpec impatient = spec_of(mode == Mode::kPermits ? Mode::kExclusive : Mode::kPermits);
      impatient.wait.once = true;
      const auto other = world.lock(impatient);
      bool tried = false;
      bool has_it = false;
      world.ensemble.before_each = [&](auto&, const auto&) {
        if (world.ensemble.requests != n || std::exchange(tried, true)) return;
        const auto answer = other->acquire(world.supervisor);
        has_it = granted(answer) != nullptr;
        if (has_it) world.at(world.clock.since_start() + 2s, [&] { CHECK(other->release(world.clock.now() + 1s)); });
      };
      const auto lock = world.lock(spec_of(mode));
      const TimePoint before = world.clock.now();
      REQUIRE(granted(lock->acquire(world.supervisor)));
      if (!tried) break;
      if (has_it) CHECK(world.clock.now() >= before + 2s);
      CHECK(lock->release(world.clock.now() + 1s));
    }
  }
}

TEST_CASE("A single try for a permit waits for those who pass the gate, and not for one that stays in it") {
  World world;
  const auto first = world.lock(spec_of(Mode::kPermits));
  REQUIRE(granted(first->acquire(world.supervisor)));
  const std::string gate = world.ensemble.foreign("/app/k/locks/" + Guid::random().node(Family::kCuratorMutex));
  LockSpec impatient = spec_of(Mode::kPermits);
  impatient.wait.once = true;
  const auto second = world.lock(impatient);
  world.at(500ms, [&] { world.ensemble.remove(gate); });
  CHECK(granted(second->acquire(world.supervisor)));
  REQUIRE(second->release(world.clock.now() + 1s));
  world.ensemble.foreign("/app/k/locks/" + Guid::random().node(Family::kCuratorMutex));
  const TimePoint before = world.clock.now();
  CHECK(refused(world.lock(impatient)->acquire(world.supervisor)));
  CHECK(world.clock.now() <= before + 1100ms);
}

TEST_CASE("Who has passed the gate of a semaphore stays in it until the lock is granted, whatever reply is lost") {
  for (const char* recipe : {"curator", "semaphore-mutex"}) {
    for (const Duration at_least : {Duration(0), Duration(1h)}) {
      for (int n = 1;; ++n) {
        CAPTURE(recipe);
        CAPTURE(at_least.count());
        CAPTURE(n);
        World world;
        LockSpec spec = spec_of(recipe == std::string("curator") ? Mode::kPermits : Mode::kExclusive);
        spec.at_least = at_least;
        world.ensemble.lose_reply_of = n;
        int alone = 0;  // a lease that keeps others out at the gate, whose client would have to come back to it
        world.ensemble.before_each = [&](FakeEnsemble::FakeSession&, const Request&) {
          if (!world.ensemble.nodes.contains("/app/k/leases")) return;
          alone += !world.ensemble.children("/app/k/leases").empty() && world.ensemble.children("/app/k/locks").empty();
        };
        const auto lock = world.lock(spec, recipe);
        REQUIRE(granted(lock->acquire(world.supervisor)));
        CHECK(alone == 0);
        CHECK(world.ensemble.children("/app/k/locks").empty());
        if (world.ensemble.requests < n) break;
      }
    }
  }
}

TEST_CASE("Whatever reply is lost, who waits is granted after the holder's release, and not before") {
  for (const char* recipe : kRecipes) {
    for (const bool is_done : {false, true}) {
      for (int n = 1;; ++n) {
        CAPTURE(recipe);
        CAPTURE(is_done);
        CAPTURE(n);
        World world;
        const auto holder = world.lock(spec_of(), recipe);
        REQUIRE(granted(holder->acquire(world.supervisor)));
        world.ensemble.requests = 0;
        world.ensemble.lose_reply_of = n;
        world.ensemble.lost_is_done = is_done;
        world.at(2s, [&] { CHECK(holder->release(world.clock.now() + 1s)); });
        const auto waiter = world.lock(spec_of(), recipe);
        const auto answer = waiter->acquire(world.supervisor);
        REQUIRE(granted(answer));
        CHECK(world.clock.since_start() >= 2s);
        CHECK(world.clock.since_start() < 2s + kTtl);  // told, or by its own look
        CHECK(waiter->release(world.clock.now() + 1s));
        if (world.ensemble.requests < n) break;
      }
    }
  }
}

TEST_CASE("A waiter whose session expires queues again in a new one") {
  World world;
  const auto holder = world.lock(spec_of());
  REQUIRE(granted(holder->acquire(world.supervisor)));
  world.at(1s, [&] {
    world.ensemble.expire(*world.ensemble.sessions.back());
    world.at(3s, [&] { CHECK(holder->release(world.clock.now() + 1s)); });
  });
  const auto waiter = world.lock(spec_of());
  REQUIRE(granted(waiter->acquire(world.supervisor)));
  CHECK(world.clock.since_start() == 3s);
  CHECK(world.ensemble.children("/app/k").size() == 1);
}

TEST_CASE(
    "Servers that end every session at once are an outage: who waits gives up in time, and is not told of a holder") {
  for (const bool once : {false, true}) {
    CAPTURE(once);
    World world;
    world.ensemble.before_each = [&](FakeEnsemble::FakeSession& session, const Request&) {
      world.ensemble.expire(session);
    };
    LockSpec spec = spec_of();
    spec.wait.once = once;
    spec.wait.connect_timeout = 2s;
    const auto answer = world.lock(spec)->acquire(world.supervisor);
    REQUIRE(refused(answer));
    CHECK(refused(answer)->error.code == ErrorCode::kUnavailable);
    CHECK(refused(answer)->error.message.find("ends every session") != std::string::npos);
    CHECK(world.clock.since_start() <= 3s);
  }
}

TEST_CASE("A waiter without a server at the end of its wait does not say that another holds the lock") {
  World world;
  const auto holder = world.lock(spec_of());
  REQUIRE(granted(holder->acquire(world.supervisor)));
  world.at(1s, [&] { world.ensemble.stop(); });
  LockSpec spec = spec_of();
  spec.wait.until = world.clock.now() + 25s;
  const auto answer = world.lock(spec)->acquire(world.supervisor);
  REQUIRE(refused(answer));
  CHECK(refused(answer)->error.code == ErrorCode::kUnavailable);
  CHECK(world.clock.since_start() <= 27s);
}

TEST_CASE("A waiter whose servers have lost all data queues in a new session, once its own would have ended") {
  for (const char* recipe : kRecipes) {
    CAPTURE(recipe);
    World world;
    const auto holder = world.lock(spec_of(), recipe);
    const auto held = holder->acquire(world.supervisor);
    REQUIRE(granted(held));
    world.at(1s, [&] { world.ensemble.empty(); });
    LockSpec spec = spec_of();
    spec.wait.until = world.clock.now() + 1000s;
    const auto waiter = world.lock(spec, recipe);
    const auto answer = waiter->acquire(world.supervisor);
    REQUIRE(granted(answer));
    CHECK(*granted(answer)->deadline == lease_deadline(world.clock.now(), kTtl));
    CHECK(world.clock.since_start() >= 1s + world.ensemble.last_timeout);  // no holder believes in its lock any more
    CHECK(world.clock.since_start() < 10s + world.ensemble.last_timeout);
    CHECK_FALSE(std::holds_alternative<RenewalRenewed>(holder->renew(world.supervisor, world.clock.now() + 1s)));
    CHECK(waiter->release(world.clock.now() + 1s));
    for (const auto& [path, node] : world.ensemble.nodes) CHECK(node.stat.ephemeral_owner == 0);
  }
}

TEST_CASE("A waiter whose servers were restored from a copy has the place that the copy shows, or a new one") {
  for (const bool has_place : {false, true}) {
    CAPTURE(has_place);
    World world;
    FakeEnsemble::Copy copy;
    const auto holder = world.lock(spec_of());
    REQUIRE(granted(holder->acquire(world.supervisor)));
    auto* const session = world.ensemble.sessions.back();
    world.ensemble.before_each = [&](FakeEnsemble::FakeSession& asking, const Request&) {
      if (&asking != session && copy.nodes.empty()) copy = world.ensemble.copy();
    };
    world.at(1s, [&] {
      if (has_place) copy = world.ensemble.copy();
      world.ensemble.restore(copy);
      world.at(200s, [&] { world.ensemble.expire(*session); });
    });
    LockSpec spec = spec_of();
    spec.wait.until = world.clock.now() + 1000s;
    const auto waiter = world.lock(spec);
    const auto answer = waiter->acquire(world.supervisor);
    REQUIRE(granted(answer));
    CHECK(world.clock.since_start() == 200s);
    CHECK(world.ensemble.children("/app/k").size() == 1);
    for (const std::string& name : world.ensemble.children("/app/k")) {
      CHECK(world.ensemble.nodes.at("/app/k/" + name).stat.czxid == granted(answer)->locks[0].token.value());
    }
    CHECK(waiter->release(world.clock.now() + 1s));
    CHECK(world.ensemble.children("/app/k").empty());
  }
}

TEST_CASE("Under recipe=simple a node that stays is no lock, and is not waited for") {
  World world;
  const auto lock = world.lock(spec_of());
  REQUIRE(granted(lock->acquire(world.supervisor)));  // makes /app/k
  const auto simple = world.lock(spec_of(), "simple");
  const auto answer = simple->acquire(world.supervisor);
  REQUIRE(refused(answer));
  CHECK(refused(answer)->error.code == ErrorCode::kUnsupported);
}

TEST_CASE("A directory that is at the end of its numbers grants nothing") {
  World world;
  const auto lock = world.lock(spec_of());
  REQUIRE(granted(lock->acquire(world.supervisor)));
  world.ensemble.nodes.at("/app/k").next_number = 2147480001;
  const auto late = world.lock(spec_of());
  const auto answer = late->acquire(world.supervisor);
  REQUIRE(refused(answer));
  CHECK(refused(answer)->error.code == ErrorCode::kUnsupported);
  CHECK(world.ensemble.children("/app/k").size() == 1);
}

TEST_CASE("A server that bounds sessions shortens the lease, and a lock-delay that leaves none is refused") {
  World world;
  world.ensemble.longest_session = 12s;
  const auto lock = world.lock(spec_of());
  const auto answer = lock->acquire(world.supervisor);
  REQUIRE(granted(answer));
  CHECK(*granted(answer)->deadline == lease_deadline(world.clock.now(), 8s));
  LockSpec careful = spec_of();
  careful.name = *LockName::parse("other");
  careful.lock_delay = 12s;
  const auto delayed = world.lock(careful);
  const auto no_room = delayed->acquire(world.supervisor);
  REQUIRE(refused(no_room));
  CHECK(refused(no_room)->error.code == ErrorCode::kUnsupported);
}

TEST_CASE("A directory whose own directory goes while it is made is made again, and not for ever") {
  World world;
  int vanishes = 0;
  world.ensemble.before_each = [&](const FakeEnsemble::FakeSession& /*session*/, const Request& request) {
    const bool below = request.kind == Request::Kind::kCreate && request.changes.front().path == "/app/k";
    if (below && vanishes-- > 0) world.ensemble.remove("/app");  // a container that was empty
  };
  vanishes = 2;
  REQUIRE(granted(world.lock(spec_of())->acquire(world.supervisor)));
  LockSpec once = spec_of();
  once.wait.tries = 1;
  world.ensemble.empty();
  vanishes = 1 << 20;
  const auto answer = world.lock(once)->acquire(world.supervisor);
  REQUIRE(refused(answer));
  CHECK(refused(answer)->error.code == ErrorCode::kUnavailable);
}

}  // namespace dlock::zookeeper::lock_test
