// SPDX-License-Identifier: Apache-2.0
// Locks that are left without a process, and what becomes of them when that fails.
#include <doctest/doctest.h>

#include <algorithm>

#include "backends/zookeeper/admin.h"
#include "backends/zookeeper/lock/lock.h"
#include "backends/zookeeper/lock/standing_leases.h"
#include "tests/unit/zookeeper/lock_world.h"

namespace dlock::zookeeper::lock_test {
namespace {

const char* const kNumbered[] = {"curator", "rw", "semaphore-mutex", "kazoo"};

/// The leader's clock is that of the world.
class LeaseWorld : public World {
 public:
  LeaseWorld() {
    ensemble.time_ms = [this] {
      return 1 + std::chrono::floor<std::chrono::milliseconds>(clock.since_start()).count();
    };
  }

  std::unique_ptr<ZookeeperAdmin> admin(const std::string& recipe = "curator") {
    const auto url = BackendUrl::parse("zk://127.0.0.1/app?recipe=" + recipe);
    return std::make_unique<ZookeeperAdmin>(
        *Ensemble::of(*url, clock, [this](const SessionSettings& s) { return ensemble.open(s); }), Runtime{clock, log});
  }

  /// A lease of `spec` that nobody keeps.
  FencingToken lease(const LockSpec& spec, Duration ttl, const std::string& recipe = "curator") {
    const auto taker = lock(spec, recipe);
    const auto answer = taker->acquire(supervisor);
    REQUIRE(granted(answer));
    REQUIRE(taker->leave({ttl}, clock.now() + 4s));
    return granted(answer)->locks[0].token;
  }

  /// The nodes of contenders that are leases, or that belong to a session.
  std::vector<std::string> places(bool leases) const {
    std::vector<std::string> found;
    for (const auto& [path, node] : ensemble.nodes) {
      if (parse_node_name(base_of(path)) && (node.stat.ephemeral_owner == 0) == leases) found.push_back(path);
    }
    return found;
  }
};

LockSpec lease_spec(Mode mode = Mode::kExclusive) {
  LockSpec spec = spec_of(mode);
  spec.left_to = 0;
  return spec;
}

}  // namespace

TEST_CASE("A lock that could not be left without a process is given back when a server is there again") {
  for (const char* recipe : kNumbered) {
    for (const Duration ttl : {0s, 20s}) {
      for (const bool comes_back : {false, true}) {
        CAPTURE(recipe);
        CAPTURE(comes_back);
        LeaseWorld world;
        LockSpec spec = lease_spec();
        spec.lock_delay = 5s;
        const auto lock = world.lock(spec, recipe);
        REQUIRE(granted(lock->acquire(world.supervisor)));
        world.ensemble.stop();
        const auto left = lock->leave({ttl}, world.clock.now() + 4s);
        REQUIRE_FALSE(left);
        CHECK(left.error().code == ErrorCode::kUnavailable);
        if (comes_back) world.at(7s, [&] { world.ensemble.start(); });
        const auto released = lock->release(world.clock.now() + 10s);
        CHECK(static_cast<bool>(released) == comes_back);
        if (comes_back) CHECK(world.places(true).empty());
        if (comes_back) CHECK(world.places(false).empty());
        if (!comes_back) CHECK(released.error().code == ErrorCode::kUnavailable);
      }
    }
  }
}

TEST_CASE("Whatever reply is lost, a lease takes the place of its holder, with its number and its token") {
  for (const char* recipe : kNumbered) {
    for (const bool is_done : {true, false}) {
      for (int n = 1;; ++n) {
        CAPTURE(recipe);
        CAPTURE(is_done);
        CAPTURE(n);
        LeaseWorld world;
        const LockSpec spec = lease_spec();
        auto lock = world.lock(spec, recipe);
        const auto answer = lock->acquire(world.supervisor);
        REQUIRE(granted(answer));
        const std::string held = world.places(false).front();
        world.ensemble.lost_is_done = is_done;
        world.ensemble.lose_reply_of = world.ensemble.requests + n;
        REQUIRE(lock->leave({20s}, world.clock.now() + 4s));
        const bool all = world.ensemble.requests < world.ensemble.lose_reply_of;
        lock.reset();
        REQUIRE(world.places(true) == std::vector{parent_of(held) + "/" + lease_name(base_of(held))});
        CHECK(world.places(false).empty());
        const auto shown = world.admin(recipe)->inspect(spec.name);
        REQUIRE(shown);
        REQUIRE(shown->holders.size() == 1);
        CHECK(shown->holders[0].token == granted(answer)->locks[0].token);
        CHECK(shown->holders[0].lease);
        CHECK(shown->holders[0].until);
        if (all) break;
      }
    }
  }
}

TEST_CASE("Who waits behind a lease removes it when its time and its lock-delay are past, and no sooner") {
  for (const char* recipe : kNumbered) {
    for (const Duration delay : {0s, 7s}) {
      CAPTURE(recipe);
      LeaseWorld world;
      LockSpec spec = lease_spec();
      spec.lock_delay = delay;
      const FencingToken token = world.lease(spec, 100s, recipe);
      const TimePoint began = world.clock.now();
      const auto next = world.lock(spec_of(), recipe);
      const auto answer = next->acquire(world.supervisor);
      REQUIRE(granted(answer));
      CHECK(granted(answer)->locks[0].token > token);
      CHECK(world.clock.now() - began >= 100s + delay);
      CHECK(world.clock.now() - began < 101s + delay);
      CHECK(world.places(true).empty());
    }
  }
}

TEST_CASE("A lease is over by the leader's clock, whatever ours has shown, and whoever may not read that one") {
  for (const bool closed : {false, true}) {
    CAPTURE(closed);
    LeaseWorld world;
    world.lease(lease_spec(), 100s);
    std::int64_t behind = 0;
    world.ensemble.time_ms = [&] {
      return 1 + std::chrono::floor<std::chrono::milliseconds>(world.clock.since_start()).count() - behind;
    };
    world.at(50s, [&] { behind = 30'000; });  // another leader, whose clock is behind
    if (closed) {
      world.ensemble.before_each = [&](FakeEnsemble::FakeSession&, const Request& request) {
        const bool asks_clock = !request.changes.empty() && request.changes[0].path.find("%clock") != std::string::npos;
        world.ensemble.closed = asks_clock ? "/app" : "";
      };
    }
    const auto next = world.lock(spec_of());
    REQUIRE(granted(next->acquire(world.supervisor)));
    CHECK(world.clock.since_start() >= 130s);
    CHECK(world.clock.since_start() < 200s);
  }
}

TEST_CASE("Of many that wait behind a lease one looks after it; behind a foreign waiter whoever comes does") {
  LeaseWorld world;
  world.lease(lease_spec(), 100s);
  const auto waits = [&](const LockSpec& spec) {
    const auto waiter = world.lock(spec);
    int writes = 0;
    world.ensemble.before_each = [&](FakeEnsemble::FakeSession&, const Request& request) {
      const bool is_write = request.kind == Request::Kind::kChange && !request.changes.empty();
      if (is_write && request.changes[0].kind == Change::Kind::kSet) ++writes;
    };
    LockSpec one = spec;
    (void)waiter->acquire(world.supervisor);
    world.ensemble.before_each = nullptr;
    return writes;
  };
  SUBCASE("ours") {
    const std::string before = world.ensemble.foreign("/app/k/_c_aaaaaaaa-0000-d10c-8000-000000000001-lock-");
    LockSpec spec = spec_of();
    spec.wait.until = FakeClock::start() + 150s;
    CHECK(waits(spec) == 0);
    CHECK(world.places(true).size() == 1);
  }
  SUBCASE("a foreign one") {
    const std::string before = world.ensemble.foreign("/app/k/_c_3f2504e0-4f89-41d3-9a0c-0305e82c3301-lock-");
    LockSpec spec = spec_of();
    spec.wait.until = FakeClock::start() + 150s;
    CHECK(waits(spec) == 1);
    CHECK(world.places(true).empty());
  }
}

TEST_CASE("A lease is renewed and released by its owner alone, until it is over; a renewal revives none") {
  LeaseWorld world;
  const LockSpec spec = lease_spec();
  const FencingToken token = world.lease(spec, 100s);
  const auto admin = world.admin();
  const auto lost = [](const auto& result) { return !result && result.error().code == ErrorCode::kLost; };
  CHECK(lost(admin->renew(spec.name, Owner::random(), 50s)));
  CHECK(lost(admin->release(spec.name, Owner::random())));
  world.clock.advance(60s);
  const auto renewed = admin->renew(spec.name, spec.owner, 50s);
  REQUIRE(renewed);
  CHECK(renewed->token == token);
  world.clock.advance(49s);
  CHECK(admin->check(spec.name, token));
  SUBCASE("released") {
    CHECK(admin->release(spec.name, spec.owner));
    CHECK(world.places(true).empty());
    CHECK(lost(admin->release(spec.name, spec.owner)));
  }
  SUBCASE("over") {
    world.clock.advance(2s);
    CHECK(lost(admin->renew(spec.name, spec.owner, 50s)));
    CHECK(lost(admin->release(spec.name, spec.owner)));
    CHECK(lost(admin->check(spec.name, token)));
  }
}

TEST_CASE("Whenever a lease is made shorter, who waits behind it, or for the lock to be free, comes in time") {
  for (const bool takes : {true, false}) {
    for (int n = 1;; ++n) {
      CAPTURE(takes);
      CAPTURE(n);
      LeaseWorld world;
      const LockSpec lease = lease_spec();
      world.lease(lease, 1000s);
      const auto admin = world.admin();
      LockSpec spec = spec_of();
      spec.take = takes;
      const auto waiter = world.lock(spec);
      int requests = 0;
      bool done = false;
      const auto shorten = [&] {
        if (!std::exchange(done, true)) REQUIRE(admin->renew(lease.name, lease.owner, 5s));
      };
      world.ensemble.before_each = [&](auto&, const auto&) {
        if (!done && ++requests == n) shorten();
      };
      world.at(20s, shorten);
      REQUIRE(granted(waiter->acquire(world.supervisor)));
      CHECK(world.clock.since_start() < 26s);
      if (requests < n) break;
    }
  }
}

TEST_CASE("Whatever reply of a renewal is lost, and whenever the lease is over meanwhile, it is renewed or Lost") {
  for (const bool is_done : {true, false}) {
    for (const Duration passes : {0s, 200s}) {
      for (int n = 1;; ++n) {
        CAPTURE(is_done);
        CAPTURE(n);
        LeaseWorld world;
        const LockSpec spec = lease_spec();
        world.lease(spec, 100s);
        const auto admin = world.admin();
        world.ensemble.lost_is_done = is_done;
        const int at = world.ensemble.requests + n;
        if (passes == 0s) world.ensemble.lose_reply_of = at;
        world.ensemble.before_each = [&](auto&, const auto&) {
          if (world.ensemble.requests == at) world.clock.advance(passes);
        };
        const auto renewed = admin->renew(spec.name, spec.owner, 50s);
        const bool all = world.ensemble.requests < at;
        world.ensemble.before_each = nullptr;
        CHECK(static_cast<bool>(renewed) == (passes == 0s || all));
        const auto shown = admin->inspect(spec.name);
        REQUIRE(shown);
        CHECK(shown->holders.size() == (renewed ? 1 : 0));
        if (all) break;
      }
    }
  }
}

TEST_CASE(
    "--at-least that is longer than a session is a lease from the grant on, until the session lasts for the rest") {
  for (const Mode mode : {Mode::kExclusive, Mode::kShared, Mode::kPermits}) {
    CAPTURE(static_cast<int>(mode));
    LeaseWorld world;
    world.ensemble.longest_session = 30s;
    LockSpec spec = spec_of(mode);
    spec.at_least = spec.ttl = 100s;
    auto lock = world.lock(spec);
    const auto answer = lock->acquire(world.supervisor);
    REQUIRE(granted(answer));
    CHECK(world.places(true).size() == 1);
    CHECK(world.places(false).empty());
    const auto renew = [&] {
      return std::holds_alternative<RenewalRenewed>(lock->renew(world.supervisor, world.clock.now() + 1s));
    };
    for (int i = 0; i < 7; ++i) {
      world.clock.advance(10s);
      CHECK(renew());
      CHECK(std::holds_alternative<RenewalHeld>(lock->held(world.clock.now())));
      CHECK(world.places(true).size() == 1);
    }
    const auto shown = world.admin()->inspect(spec.name);
    REQUIRE(shown);
    REQUIRE(shown->holders.size() == 1);
    CHECK_FALSE(shown->holders[0].lease);
    SUBCASE("it goes on") {
      world.clock.advance(15s);
      CHECK(renew());
      CHECK(world.places(true).empty());
      REQUIRE(world.places(false).size() == 1);
      for (int i = 0; i < 3; ++i) CHECK(std::holds_alternative<RenewalHeld>(lock->held(world.clock.now())));
      CHECK(renew());
      const auto later = world.admin()->inspect(spec.name);
      REQUIRE(later);
      REQUIRE(later->holders.size() == 1);
      CHECK(later->holders[0].token == granted(answer)->locks[0].token);
      world.ensemble.remove(world.places(false)[0]);
      CHECK(std::holds_alternative<RenewalLost>(lock->renew(world.supervisor, world.clock.now() + 1s)));
    }
    SUBCASE("its command ends") {
      REQUIRE(lock->leave({30s, "status 4"}, world.clock.now() + 4s));
      lock.reset();
      const auto kept = world.admin()->inspect(spec.name);
      REQUIRE(kept);
      REQUIRE(kept->holders.size() == 1);
      CHECK(kept->holders[0].ran == "status 4");
      world.clock.advance(31s);
      CHECK(world.admin()->inspect(spec.name)->holders.empty());
    }
    SUBCASE("it is released in order") {
      REQUIRE(lock->release(world.clock.now() + 1s));
      CHECK(world.places(true).empty());
    }
  }
}

TEST_CASE("Whatever reply of a grant is lost, --at-least is neither shorter nor much longer than it was asked for") {
  for (const bool is_done : {true, false}) {
    for (int n = 1;; ++n) {
      CAPTURE(is_done);
      CAPTURE(n);
      LeaseWorld world;
      world.ensemble.longest_session = 30s;
      world.clock.advance(1000h);
      LockSpec spec = spec_of();
      spec.at_least = spec.ttl = 100s;
      const auto lock = world.lock(spec);
      world.ensemble.lost_is_done = is_done;
      world.ensemble.lose_reply_of = n;
      // Nobody answers for a moment after that.
      world.ensemble.before_each = [&](auto&, const auto&) {
        if (world.ensemble.requests != n) return;
        world.ensemble.stop();
        world.at(world.clock.since_start() + 6s, [&] { world.ensemble.start(); });
      };
      REQUIRE(granted(lock->acquire(world.supervisor)));
      const bool all = world.ensemble.requests < n;
      world.ensemble.before_each = nullptr;
      world.ensemble.lose_reply_of = 0;
      const WallTime now = world.clock.wall();
      const auto shown = world.admin()->inspect(spec.name);
      REQUIRE(shown);
      REQUIRE(shown->holders.size() == 1);
      REQUIRE(shown->holders[0].until);
      CHECK(*shown->holders[0].until >= now + 100s);
      CHECK(*shown->holders[0].until < now + 120s);
      if (all) break;
    }
  }
}

TEST_CASE("Whatever reply is lost while a lease becomes a node of the session again, the lock is held") {
  for (const bool is_done : {true, false}) {
    for (int n = 1;; ++n) {
      CAPTURE(is_done);
      CAPTURE(n);
      LeaseWorld world;
      world.ensemble.longest_session = 30s;
      LockSpec spec = spec_of();
      spec.at_least = spec.ttl = 100s;
      const auto lock = world.lock(spec);
      REQUIRE(granted(lock->acquire(world.supervisor)));
      world.clock.advance(10s);
      for (int i = 0; i < 3; ++i) CHECK(std::holds_alternative<RenewalHeld>(lock->held(world.clock.now())));
      world.clock.advance(75s);
      world.ensemble.lost_is_done = is_done;
      world.ensemble.lose_reply_of = world.ensemble.requests + n;
      const int last = world.ensemble.lose_reply_of;
      Renewal answer = RenewalHeld{};
      for (int i = 0; i < 9; ++i) {
        if (i == 5) world.ensemble.lose_reply_of = 0;
        answer = lock->renew(world.supervisor, world.clock.now() + (i % 2 == 0 ? Duration(0) : Duration(1ms)));
        CHECK_FALSE(std::holds_alternative<RenewalLost>(answer));
        CHECK(std::holds_alternative<RenewalHeld>(lock->held(world.clock.now())));
        world.clock.advance(1s);
      }
      CHECK(std::holds_alternative<RenewalRenewed>(answer));
      CHECK(world.places(true).empty());
      CHECK(world.places(false).size() == 1);
      if (world.ensemble.requests < last || n > 12) break;
    }
  }
}

}  // namespace dlock::zookeeper::lock_test
