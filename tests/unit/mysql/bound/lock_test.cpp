// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/bound/lock.h"

#include <doctest/doctest.h>

#include "lib/lock/lease.h"
#include "tests/unit/mysql/lock_world.h"

namespace dlock::mysql::bound_lock_test {
namespace {

using namespace std::chrono_literals;
using testing::FakeServer;
using Fault = FakeServer::Fault;

const Answer kGot{{{"1"}}, 0};

using World = testing::LockWorld<ConnectionBoundLock>;

World& session(World& world) {
  world.server.next("GET_LOCK('k',0)", kGot);
  return world;
}

TEST_CASE("a named lock is a lease: counted from before it was asked for, with a token of the table") {
  World world(Strategy::kSession);
  const Granted granted = session(world).granted();
  CHECK(granted.deadline == lease_deadline(world.at(0s), 30s));
  CHECK(granted.locks[0].token.value() == static_cast<std::uint64_t>(world.server.now_us()));
  CHECK(world.lock().release(world.at(5s)));
  CHECK(world.server.heard("DO RELEASE_LOCK('k')") == 1);
  CHECK(world.server.text.empty());
}

TEST_CASE("a key that servers could mix up with another becomes a digest of its bytes") {
  for (const char* key : {"Upper", "with space", "dlock:x", "\xc3\xa9",
                          "a-name-of-more-than-sixty-four-characters-a-name-of-more-than-sixty-four"}) {
    CAPTURE(key);
    World world(Strategy::kSession);
    world.spec.name = *LockName::parse(key);
    world.server.next("GET_LOCK(CONCAT('dlock:',LEFT(SHA2(", kGot);
    world.granted();
  }
}

TEST_CASE("a ping that is answered late counts from when it was sent, and a second one does not overtake it") {
  World world(Strategy::kSession);
  session(world).granted();
  world.clock.advance(10s);
  world.server.next(",(SELECT text", Fault::kSilent);
  CHECK(std::holds_alternative<RenewalUnknown>(world.lock().renew(world.control, world.at(12s))));
  CHECK(std::holds_alternative<RenewalUnknown>(world.lock().renew(world.control, world.at(14s))));
  CHECK(world.server.heard(",(SELECT text") == 1);
}

TEST_CASE("a server without named locks says what to use instead") {
  World world(Strategy::kSession);
  world.server.next("GET_LOCK", 1235);
  const Error error = world.refused();
  CHECK(error.code == ErrorCode::kUnsupported);
  CHECK(error.next == "use strategy=lease");
}

TEST_CASE("a locked row is busy in the words of MariaDB and of MySQL 8, and the transaction is ended") {
  for (const int code : {1205, 3572}) {
    CAPTURE(code);
    World world(Strategy::kRow);
    world.spec.wait.once = true;
    for (int i = 0; i < 3; ++i) world.server.next("FOR UPDATE NOWAIT", code);
    CHECK(world.refused().code == ErrorCode::kBusy);
    CHECK(world.server.heard("ROLLBACK") >= 3);
  }
}

TEST_CASE("a row that is locked for a moment by who looks at it is not busy") {
  World world(Strategy::kRow);
  world.spec.wait.once = true;
  world.server.next("FOR UPDATE NOWAIT", 1205);
  world.server.next("FOR UPDATE NOWAIT", kGot);
  world.granted();
}

TEST_CASE("a row of the user's that cannot be locked alone is refused") {
  const Answer innodb{{{"YES", "InnoDB"}}, 0};
  const auto mariadb = [](const char* type) {
    return Answer{{{"1", "SIMPLE", "orders", type, "", "", "", "", "1", ""}}, 0};
  };
  const auto mysql8 = [](const char* type) {
    return Answer{{{"1", "SIMPLE", "orders", std::nullopt, type, "", "", "", "", "1", "100", ""}}, 0};
  };
  World world(Strategy::kRow);
  world.settings.row = UserRow{"orders", "id", "42"};
  SUBCASE("its table is missing") { world.server.next("information_schema.TABLES", Answer{}); }
  SUBCASE("its engine has no transactions") {
    world.server.next("information_schema.TABLES", Answer{{{"NO", "MyISAM"}}, 0});
  }
  SUBCASE("its column has no index, on MariaDB") {
    world.server.next("information_schema.TABLES", innodb);
    world.server.next("EXPLAIN FORMAT=TRADITIONAL SELECT", mariadb("ALL"));
  }
  SUBCASE("its column has no index, on MySQL 8") {
    world.server.next("information_schema.TABLES", innodb);
    world.server.next("EXPLAIN FORMAT=TRADITIONAL SELECT", mysql8("ALL"));
  }
  SUBCASE("its plan is told in another form, a tree") {
    world.server.next("information_schema.TABLES", innodb);
    world.server.next("EXPLAIN FORMAT=TRADITIONAL SELECT", Answer{{{"-> Table scan on orders"}}, 0});
  }
  SUBCASE("its plan is not told") {
    world.server.next("information_schema.TABLES", innodb);
    world.server.next("EXPLAIN FORMAT=TRADITIONAL SELECT", Answer{});
  }
  SUBCASE("its column does not exist") {
    world.server.next("information_schema.TABLES", innodb);
    world.server.next("EXPLAIN FORMAT=TRADITIONAL SELECT", 1054);
  }
  SUBCASE("it is not there") {
    world.server.next("information_schema.TABLES", innodb);
    world.server.next("EXPLAIN FORMAT=TRADITIONAL SELECT", mysql8("const"));
    world.server.next("FOR UPDATE NOWAIT", Answer{});
  }
  CHECK(world.refused().code == ErrorCode::kMisconfigured);
  CHECK(world.server.planned.empty());
}

TEST_CASE("a row is given back before its record is changed, which may have to wait") {
  World world(Strategy::kRow);
  world.server.next("FOR UPDATE NOWAIT", kGot);
  world.granted();
  world.server.log.clear();
  world.server.next("ROLLBACK", Answer{});
  SUBCASE("it is") {}
  SUBCASE("it waits for ever") { world.server.next("UPDATE dlock_data", Fault::kSilent); }
  CHECK(world.lock().release(world.at(30s)));
  REQUIRE_FALSE(world.server.log.empty());
  CHECK(world.server.log.front() == "ROLLBACK");
  CHECK(world.clock.since_start() <= 1s);
}

TEST_CASE("a wait for a row ends when the server has begun to refuse changes, and is no wait for a holder any more") {
  constexpr char kNothing[] = "UPDATE dlock_data SET version=version WHERE FALSE";
  World world(Strategy::kRow);
  world.spec.wait.until = world.at(20s);
  world.server.gate_is_taken = true;
  world.server.next("FOR UPDATE NOWAIT", 1205);
  world.server.next(kNothing, Answer{});  // a holder, then
  world.server.next(kNothing, Answer{});  // after 5 s, too
  int code = 0;
  SUBCASE("it waits for the end of statements") { code = 1205; }
  SUBCASE("it is read-only") { code = 1836; }
  world.server.next(kNothing, code);
  world.server.next("KILL", Answer{});
  for (int i = 0; i < 500; ++i) {
    world.server.next("FOR UPDATE NOWAIT", 1205);
    world.server.next(kNothing, 1836);
  }
  const Error error = world.refused();
  CHECK(error.code == ErrorCode::kUnavailable);
  CHECK(world.server.heard("/* dlock waits row") == 1);
}

TEST_CASE("a waiter in the server's queue is granted when its turn comes, and counts from after it") {
  World world(Strategy::kSession);
  world.server.next("GET_LOCK('k',0)", Answer{{{"0"}}, 0});
  world.server.gate_is_taken = true;
  world.server.gate_opens = world.at(100s);
  const Granted granted = world.granted();
  CHECK(granted.deadline == lease_deadline(world.at(100s), 30s));
  CHECK(world.server.heard("/* dlock waits session x'6b' ") == 1);
}

}  // namespace
}  // namespace dlock::mysql::bound_lock_test
