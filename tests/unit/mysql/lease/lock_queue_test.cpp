// SPDX-License-Identifier: Apache-2.0
// Who waits: in the server's queue, and when its turn comes or its wait ends.
#include <doctest/doctest.h>

#include "backends/mysql/lease/lock.h"
#include "lib/lock/lease.h"
#include "tests/unit/mysql/lease/lease_world.h"

namespace dlock::mysql::lease_queue_test {
namespace {

using namespace std::chrono_literals;
using Fault = testing::FakeServer::Fault;
using World = testing::LeaseWorld;

TEST_CASE("a waiter waits in the server's queue and looks only when it is its turn") {
  World world;
  const Owner other = world.somebody_holds(300s);
  world.server.gate_opens = world.at(60s);
  SUBCASE("the holder has released") {
    world.server.holders.clear();
    world.granted();
    CHECK(world.server.heard("/* dlock waits lease x'6b' " + world.spec.owner.text() + " x ") == 1);
    CHECK(world.server.log.size() == 3);  // look, wait, take: the same after a minute as after a second
    CHECK(world.clock.now() == world.at(60s));
    CHECK(world.seen().holders[0].owner == world.spec.owner.text());
  }
  SUBCASE("the holder has lost its connection: who is first looks by itself until the lease is over") {
    const Granted granted = world.granted();
    CHECK(world.clock.now() >= world.at(300s));
    CHECK(world.clock.now() < world.at(301s));
    CHECK(granted.locks[0].owner == world.spec.owner);
    CHECK(world.server.heard("GET_LOCK") == 2);
  }
}

TEST_CASE("who waits for hours stays in the same queue, as long as the server has it there or lets nobody in to ask") {
  World world;
  world.somebody_holds(300s);
  world.server.holders.clear();
  world.server.gate_opens = world.at(2h);
  world.server.connect_errors = {0, 0, 1040, 0};  // its own, and those that ask
  for (int i = 0; i < 3; ++i) world.server.next("PROCESSLIST WHERE ID=7", Answer{{{"1"}}, 0});
  SUBCASE("it has") {
    for (int i = 0; i < 8; ++i) world.server.next("PROCESSLIST WHERE ID=7", Answer{{{"1"}}, 0});
    world.granted();
    CHECK(world.clock.now() == world.at(2h));
    CHECK(world.server.heard("/* dlock waits") == 1);
  }
  SUBCASE("it has not any more") {
    world.granted();
    CHECK(world.server.heard("/* dlock waits") > 1);
  }
}

TEST_CASE("a lease that came with the turn counts from the moment at which it was asked for") {
  World world;
  world.somebody_holds(300s);
  world.server.gate_opens = world.at(200s);
  world.server.holders.clear();
  CHECK(world.granted().deadline == lease_deadline(world.at(200s), 30s));
}

TEST_CASE("a turn brings a larger token also when the server's clock has gone back") {
  World world;
  world.somebody_holds(300s);
  world.server.gate_opens = world.at(60s);
  world.server.holders.clear();
  const std::uint64_t last = std::stoull(world.server.fence) + 3'600'000'000;
  world.server.fence = std::to_string(last);
  SUBCASE("") { world.server.version = world.server.fence; }
  SUBCASE("and the row was changed more often than it was taken") { world.server.version = std::to_string(last + 5); }
  const std::string version = world.server.version;
  CHECK(world.granted().locks[0].token.value() == last + 1);
  CHECK(world.server.version > version);
  CHECK(world.lock().release(world.at(70s)));
  CHECK(world.seen().holders.empty());
}

TEST_CASE("a turn that comes in the moment in which the wait ends leaves nothing behind") {
  World world;
  world.somebody_holds(300s);
  world.server.holders.clear();
  world.server.gate_opens = world.at(60s);
  SUBCASE("its time is over") {
    world.spec.wait.until = world.at(60s);
    CHECK(world.refused().code == ErrorCode::kBusy);
  }
  SUBCASE("it is withdrawn") {
    world.control.stop_at = world.at(60s);
    CHECK_FALSE(world.lock().acquire(world.control).has_value());
  }
  CHECK(world.server.heard("holders=CONCAT") == 2);  // the look, and the turn
  CHECK(world.seen().holders.empty());
}

}  // namespace
}  // namespace dlock::mysql::lease_queue_test
