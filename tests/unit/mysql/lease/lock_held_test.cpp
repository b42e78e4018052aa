// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <utility>

#include "lib/lock/lease.h"
#include "tests/unit/mysql/lease/lease_world.h"

namespace dlock::mysql::lease_lock_held_test {
namespace {

using namespace std::chrono_literals;
using Fault = testing::FakeServer::Fault;
using World = testing::LeaseWorld;

TEST_CASE("a renewal counts from before it was asked") {
  World world;
  world.granted();
  world.clock.advance(10s);
  const Renewal renewal = world.lock().renew(world.control, world.at(15s));
  REQUIRE(std::holds_alternative<RenewalRenewed>(renewal));
  CHECK(std::get<RenewalRenewed>(renewal).deadline == lease_deadline(world.at(10s), 30s));
}

TEST_CASE("the renewal of a lock that nobody shares is one statement; of one that is shared it is two") {
  World world;
  world.spec.mode = Mode::kShared;
  world.granted();
  SUBCASE("alone") {
    world.server.log.clear();
    for (int i = 0; i < 3; ++i) {
      world.clock.advance(20s);
      CHECK(std::holds_alternative<RenewalRenewed>(world.lock().renew(world.control, world.clock.now() + 5s)));
    }
    CHECK(world.server.log.size() == 3);
  }
  SUBCASE("with another reader") {
    LockSpec other = world.spec;
    other.owner = Owner::random();
    LeaseLock second(world.settings, world.server.dial(), other, Runtime{world.clock, world.log});
    REQUIRE(second.acquire(world.control));
    world.server.log.clear();
    world.clock.advance(20s);
    CHECK(std::holds_alternative<RenewalRenewed>(world.lock().renew(world.control, world.clock.now() + 5s)));
    CHECK(world.server.log.size() == 3);  // the first one finds that the row has changed
    CHECK(world.seen().holders.size() == 2);
  }
  world.clock.advance(11s);
  REQUIRE(!world.seen().holders.empty());
  CHECK(world.seen().holders.back().until > world.clock.wall());
  CHECK(world.lock().release(world.clock.now() + 5s));
}

TEST_CASE("the end of the connection makes the holder look at its row at once") {
  World world;
  world.granted();
  CHECK(std::holds_alternative<RenewalHeld>(world.lock().held(world.clock.now())));
  world.server.down = true;
  SUBCASE("it was a KILL of a force-release") {
    world.server.holders.clear();
    world.server.connect_errors = {0};
    world.clock.next_happening = [&]() -> std::optional<TimePoint> {
      if (!std::exchange(world.server.down, false)) return std::nullopt;
      return world.clock.now();
    };
    CHECK(std::holds_alternative<RenewalLost>(world.lock().held(world.clock.now())));
  }
  SUBCASE("the server has gone: nothing is known") {
    CHECK(std::holds_alternative<RenewalUnknown>(world.lock().held(world.clock.now())));
  }
}

TEST_CASE(
    "nothing is asked about a lease that has just begun; one that is older, or is to last for another time, begins "
    "again") {
  for (const bool waits : {false, true}) {
    CAPTURE(waits);
    World world;
    if (waits) world.somebody_holds(30s, false), world.clock.advance(30s);
    world.granted();
    world.server.log.clear();
    CHECK(world.lock().leave({world.spec.ttl}, world.clock.now() + 1s));
    CHECK(world.server.log.empty());
    world.clock.advance(1s);
    CHECK(world.lock().leave({world.spec.ttl}, world.clock.now() + 1s));
    CHECK_FALSE(world.server.log.empty());
  }
}

}  // namespace
}  // namespace dlock::mysql::lease_lock_held_test
