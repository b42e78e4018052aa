// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/lease/lock.h"

#include <doctest/doctest.h>

#include "lib/lock/lease.h"
#include "lib/lock/who_text.h"
#include "tests/unit/mysql/lease/lease_world.h"

namespace dlock::mysql::lease_lock_test {
namespace {

using namespace std::chrono_literals;
using Fault = testing::FakeServer::Fault;
using World = testing::LeaseWorld;

TEST_CASE("a lock that nobody had before takes two statements, and one to give it back") {
  World world;
  const Granted granted = world.granted();
  CHECK(world.server.log.size() == 2);
  CHECK(granted.locks[0].token.value() == static_cast<std::uint64_t>(world.server.now_us()));
  CHECK(granted.deadline == lease_deadline(world.at(0s), 30s));
  CHECK(world.lock().release(world.at(5s)));
  CHECK(world.server.log.size() == 3);
  CHECK(world.server.log.back().find("holds=IF(RELEASE_LOCK(") != std::string::npos);
  CHECK(world.seen().holders.empty());
}

TEST_CASE("a lock that others had before takes one statement, which writes what the decision would have written") {
  World world;
  world.somebody_holds(10s, false);
  world.clock.advance(10s);
  world.spec.mode = Mode::kPermits;
  world.spec.permits = 2;
  world.spec.slots = {"blue", "green"};
  const std::string last = world.server.fence;
  const Granted granted = world.granted();
  REQUIRE(world.server.log.size() == 2);  // and who needs no gate any more leaves it
  CHECK(world.server.log[1].starts_with("DO RELEASE_LOCK"));
  CHECK(granted.deadline == lease_deadline(world.at(10s), 30s));
  CHECK(granted.locks[0].slot == "blue");
  CHECK(world.server.fence > last);
  CHECK(granted.locks[0].token.text() == world.server.fence);

  LeaseAsk ask{.owner = world.spec.owner, .ttl = 30s, .who = who_text(world.spec)};
  ask.mode = Mode::kPermits;
  ask.permits = 2;
  ask.connection = 7;
  ask.slots = world.spec.slots;
  const auto decided = try_take(LeaseRow(), ask, world.server.now_us());
  CHECK(world.server.holders == encode_holders(std::get<LeaseTake>(decided).next.holders));
  CHECK(world.server.permits == "2");
}

TEST_CASE("a grant that is given up after its answer was lost leaves nothing behind") {
  World world;
  world.spec.wait.once = true;
  world.server.next("INSERT IGNORE", Fault::kDone);
  CHECK(world.refused().code == ErrorCode::kUnavailable);
  CHECK(world.seen().holders.empty());
}

TEST_CASE("a write that is still on its way when we give up comes too late") {
  World world;
  world.somebody_holds(1s, false);
  world.clock.advance(2s);
  world.spec.wait.once = true;
  const std::string version = world.server.version;
  world.server.next("UPDATE", Fault::kSilent);
  CHECK(world.refused().code == ErrorCode::kUnavailable);
  CHECK(world.server.version != version);
  CHECK(world.seen().holders.empty());
  world.server.arrives(world.server.log.front());
  CHECK(world.seen().holders.empty());
}

TEST_CASE("deadlocks and lock waits that the server ended reach nobody") {
  for (const int code : {1213, 1205, 3572}) {
    CAPTURE(code);
    World world;
    world.server.next("INSERT IGNORE", code);
    world.server.next("INSERT IGNORE", code);
    world.granted();
    CHECK(world.server.heard("INSERT IGNORE") == 3);
  }
}

TEST_CASE("without named locks every waiter looks by itself, with growing pauses") {
  World world;
  world.somebody_holds(10s, false);
  world.server.gate_error = 1235;  // Galera
  world.granted();
  CHECK(world.clock.now() >= world.at(10s));
  CHECK(world.clock.now() < world.at(10s) + 50ms);
  CHECK(world.server.heard("GET_LOCK") == 1);
  CHECK(world.server.heard("SLEEP(") < 130);
  CHECK(world.server.heard("/* dlock waits") == world.server.heard("SLEEP("));  // seen while it waits
}

TEST_CASE(
    "on a node of Galera the gate is not asked for, and a waiter keeps its place in the poll queue until it holds") {
  World world;
  world.somebody_holds(10s, false);
  world.server.galera = true;
  world.granted();
  CHECK(world.clock.now() >= world.at(10s));
  CHECK(world.server.heard(" ON DUPLICATE KEY UPDATE expires=") >= 8);  // a sign of life each second
  CHECK(world.server.heard("DELETE FROM dlock_lock WHERE strategy=x'717565756564' AND name=CONCAT(") == 1);
  CHECK(world.server.heard("SET @dlock_gate=IF(@dlock_galera,-1,GET_LOCK(") == 1);
  CHECK(world.server.heard("/* dlock waits") == world.server.heard("SLEEP("));
}

TEST_CASE("on a node of Galera a free lock is not taken before an earlier waiter") {
  World world;
  world.server.galera = world.server.is_behind = true;
  world.spec.wait.once = true;
  CHECK(world.refused().code == ErrorCode::kBusy);
  CHECK(world.server.holders.empty());
  world.made.reset();
  world.server.is_behind = false;
  world.granted();
}

}  // namespace
}  // namespace dlock::mysql::lease_lock_test
