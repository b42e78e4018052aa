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

TEST_CASE("a lease without a holder's process is taken when it is over, within a fraction of a second") {
  World world;
  world.somebody_holds(10s, false);
  world.granted();
  CHECK(world.clock.now() >= world.at(10s));
  CHECK(world.clock.now() < world.at(10s) + 50ms);
}

TEST_CASE("a wait that is over is told with who has it") {
  World world;
  world.somebody_holds(300s);
  world.spec.wait.until = world.at(2s);
  const auto answer = world.lock().acquire(world.control);
  REQUIRE(answer);
  const auto& refused = std::get<Refused>(*answer);
  CHECK(refused.error.code == ErrorCode::kBusy);
  REQUIRE(refused.state);
  REQUIRE(refused.state->holders.size() == 1);
  CHECK(refused.state->holders[0].since == WallTime(0s));  // on our clock
  CHECK(refused.state->holders[0].until == WallTime(300s));
  CHECK(world.clock.now() == world.at(2s));
  CHECK(world.server.heard("KILL 7") == 1);  // out of the server's queue at once
}

TEST_CASE("a wait ends at its time also where others change the row again and again") {
  World world;
  world.spec.wait.until = world.at(1s);
  for (int i = 0; i < 200; ++i) world.server.next("INSERT IGNORE", Answer{});
  CHECK(world.refused().code == ErrorCode::kBusy);
  CHECK(world.clock.now() <= world.at(1s) + 200ms);
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

TEST_CASE("a turn whose taking was not answered is found by its owner") {
  World world;
  world.somebody_holds(300s);
  world.server.holders.clear();
  world.server.gate_opens = world.at(60s);
  world.server.next("holders=CONCAT", Answer{{{"0", "0", "7", "0", {}, {}, {}, {}, {}}}, 0});
  world.server.next("holders=CONCAT", Fault::kDone);
  const Granted granted = world.granted();
  CHECK(granted.locks[0].token.text() == world.server.fence);
  CHECK(world.server.heard("holders=CONCAT") == 3);
  REQUIRE(world.seen().holders.size() == 1);
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

TEST_CASE("a withdraw ends the wait in the server's queue") {
  World world;
  world.somebody_holds(300s);
  world.control.stop_at = world.at(0s);
  world.control.stop_at = *world.control.stop_at + 1ms;
  world.server.gate_opens.reset();
  world.clock.next_happening = [&] { return std::optional(*world.control.stop_at); };
  CHECK_FALSE(world.lock().acquire(world.control).has_value());
  CHECK(world.server.heard("KILL 7") == 1);
}

}  // namespace
}  // namespace dlock::mysql::lease_queue_test
