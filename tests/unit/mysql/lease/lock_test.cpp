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

  LeaseAsk ask{.owner = world.spec.owner, .ttl = 30s, .ancestor = {}, .who = who_text(world.spec)};
  ask.mode = Mode::kPermits;
  ask.permits = 2;
  ask.connection = 7;
  ask.slots = world.spec.slots;
  const auto decided = try_take(LeaseRow(), ask, world.server.now_us());
  CHECK(world.server.holders == encode_holders(std::get<LeaseTake>(decided).next.holders));
  CHECK(world.server.permits == "2");
}

TEST_CASE("with -n a held lock is busy after one look, and nothing is left") {
  World world;
  world.somebody_holds(30s);
  world.spec.wait.once = true;
  const std::string version = world.server.version;
  const auto answer = world.lock().acquire(world.control);
  REQUIRE(answer);
  const auto& refused = std::get<Refused>(*answer);
  CHECK(refused.error.code == ErrorCode::kBusy);
  REQUIRE(refused.state);
  REQUIRE(refused.state->holders.size() == 1);
  CHECK(refused.state->holders[0].since == WallTime(0s));  // on our clock
  CHECK(refused.state->holders[0].until == WallTime(30s));
  CHECK(world.server.log.size() == 2);  // and who waits
  CHECK(world.server.version == version);
  CHECK(world.server.heard("dlock waits") == 0);
}

TEST_CASE("a grant whose answer was lost is found by its owner, with its token") {
  World world;
  std::string grants = "INSERT IGNORE";
  SUBCASE("of a new row") {}
  SUBCASE("of a row that somebody left") {
    world.somebody_holds(1s, false);
    world.clock.advance(2s);
    grants = "UPDATE";
  }
  const std::size_t before = world.server.connected.size();
  world.server.next(grants, Fault::kDone);
  const Granted granted = world.granted();
  CHECK(granted.locks[0].owner == world.spec.owner);
  REQUIRE(world.seen().holders.size() == 1);
  CHECK(world.seen().holders[0].token == granted.locks[0].token);
  CHECK(world.server.connected.size() >= before + 2);
}

TEST_CASE("a request that was cut off before it was done is made again") {
  World world;
  world.server.next("INSERT IGNORE", Fault::kNotDone);
  world.granted();
  CHECK(world.server.heard("INSERT IGNORE") == 2);
}

TEST_CASE("a grant that is given up after its answer was lost leaves nothing behind") {
  World world;
  world.spec.wait.once = true;
  world.server.next("INSERT IGNORE", Fault::kDone);
  CHECK(world.refused().code == ErrorCode::kUnavailable);
  CHECK(world.seen().holders.empty());
}

TEST_CASE("a grant that meets a withdraw is given back, and does not wait for its ttl") {
  struct Withdraws final : Control {
    explicit Withdraws(testing::FakeServer& fake) : server(fake) {}
    void add_interest(std::vector<pollfd>& /*fds*/) const override {}
    bool stop_requested() override { return server.heard("INSERT IGNORE") > 0; }
    bool take_who() override { return false; }
    void tell(const SessionEvent& /*event*/) override {}
    testing::FakeServer& server;
  };
  World world;
  Withdraws control(world.server);
  CHECK_FALSE(world.lock().acquire(control).has_value());
  CHECK(world.server.heard("INSERT IGNORE") == 1);
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

TEST_CASE("a silent server is unavailable after the connection's time-out") {
  World world;
  for (int i = 0; i < 20; ++i) world.server.next("SELECT", Fault::kSilent);
  CHECK(world.refused().code == ErrorCode::kUnavailable);
  CHECK(world.clock.now() >= world.at(4s));
  CHECK(world.clock.now() <= world.at(6s));
}

TEST_CASE("a silent server is given up on when the wait is over") {
  World world;
  world.spec.wait.until = world.at(2s);
  for (int i = 0; i < 20; ++i) world.server.next("SELECT", Fault::kSilent);
  CHECK(world.refused().code == ErrorCode::kUnavailable);
  CHECK(world.clock.now() >= world.at(2s));
  CHECK(world.clock.now() <= world.at(3s));
}

TEST_CASE("errors of the server mean what they say") {
  struct Case {
    int code;
    ErrorCode expected;
    const char* said;
  };
  for (const Case& c :
       {Case{1146, ErrorCode::kMisconfigured, "tables are missing"},
        Case{1054, ErrorCode::kMisconfigured, "of another version"}, Case{1142, ErrorCode::kDenied, "error 1142"},
        Case{1114, ErrorCode::kSystem, "cannot store it"}}) {
    CAPTURE(c.code);
    World world;
    world.server.next("SELECT", c.code);
    const Error error = world.refused();
    CHECK(error.code == c.expected);
    CHECK(error.message.find(c.said) != std::string::npos);
    CHECK(error.message.find("h:3306") != std::string::npos);
  }
}

TEST_CASE("a login that is refused is not tried again; a server without connections left is") {
  World world;
  SUBCASE("refused") {
    world.server.connect_errors = {1045};
    CHECK(world.refused().code == ErrorCode::kDenied);
    CHECK(world.server.connected.size() == 1);
  }
  SUBCASE("no connection left") {
    world.server.connect_errors = {1040, 1040, 0};
    world.granted();
    CHECK(world.server.connected.size() == 3);
  }
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

TEST_CASE("whoever finds the row changed looks again, and overwrites nobody") {
  World world;
  world.server.next("INSERT IGNORE", Answer{{}, 0});  // somebody else's came first
  world.granted();
  CHECK(world.server.heard("SELECT") == 2);
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

TEST_CASE("a read-only server takes no locks, even from an account that could write there") {
  World world;
  SUBCASE("whose row is not there") {}
  SUBCASE("whose row is there") {
    world.granted();
    REQUIRE(world.lock().release(world.at(5s)));
    world.made.reset();
    world.server.log.clear();
  }
  world.server.read_only = "1";
  world.spec.wait.once = true;
  const Error error = world.refused();
  CHECK(error.code == ErrorCode::kUnavailable);
  CHECK(error.message.find("read-only") != std::string::npos);
  CHECK(world.server.heard("INSERT IGNORE") == 0);
  CHECK(world.server.holders.empty());
}

TEST_CASE("a server that becomes read-only under a holder renews nothing, even for an account that could write there") {
  World world;
  world.granted();
  world.server.read_only = "1";
  const Renewal renewal = world.lock().renew(world.control, world.at(2s));
  REQUIRE(std::holds_alternative<RenewalUnknown>(renewal));
  CHECK(std::get<RenewalUnknown>(renewal).why.find("read-only") != std::string::npos);
}

TEST_CASE("of several servers the writable one is used, and a switch-over is decided by the row") {
  World world;
  world.settings.servers.push_back(world.settings.servers[0]);
  world.settings.servers[1].endpoint.host = "h2";
  world.server.next("SELECT @@global.read_only", Answer{{{"1"}}, 0});
  world.server.next("SELECT @@global.read_only", Answer{{{"0"}}, 0});
  world.granted();
  CHECK(world.server.connected == std::vector<std::string>{"h:3306", "h2:3306"});

  SUBCASE("kept where the row has come along") {
    world.server.next("UPDATE", 1290);
    world.server.next("SELECT @@global.read_only", Answer{{{"0"}}, 0});
    (void)world.lock().renew(world.control, world.at(2s));
    CHECK(std::holds_alternative<RenewalRenewed>(world.lock().renew(world.control, world.at(5s))));
  }
  SUBCASE("lost where it has not") {
    world.server.down = true;
    (void)world.lock().renew(world.control, world.at(1s));
    world.server.down = false;
    world.server.has_row = false;
    CHECK(std::holds_alternative<RenewalLost>(world.lock().renew(world.control, world.at(5s))));
  }
}

TEST_CASE("no server is writable: every reason is told") {
  World world;
  world.settings.servers.push_back(world.settings.servers[0]);
  world.settings.servers[1].endpoint.host = "h2";
  world.spec.wait.once = true;
  world.server.connect_errors = {2003};
  world.server.next("SELECT @@global.read_only", Answer{{{"1"}}, 0});
  const Error error = world.refused();
  CHECK(error.code == ErrorCode::kUnavailable);
  CHECK(error.message.find("h:3306") != std::string::npos);
  CHECK(error.message.find("h2:3306 is read-only") != std::string::npos);
}

TEST_CASE("readers pass the gate and do not keep it") {
  World world;
  world.spec.mode = Mode::kShared;
  world.granted();
  CHECK(world.server.heard("DO RELEASE_LOCK") == 1);
}

TEST_CASE("an inner command joins without the gate, which the outer one has") {
  World world;
  world.granted();
  world.server.gate_is_taken = true;
  LockSpec inner = world.spec;
  inner.owner = Owner::random();
  inner.wait.once = true;
  SUBCASE("its claim is true") {
    inner.ancestor = HeldClaim{world.spec.owner, world.seen().holders[0].token};
    LeaseLock lock(world.settings, world.server.dial(), inner, Runtime{world.clock, world.log});
    const auto answer = lock.acquire(world.control);
    REQUIRE(answer);
    REQUIRE(std::holds_alternative<Granted>(*answer));
    CHECK(std::get<Granted>(*answer).locks[0].reentered);
    CHECK(world.lock().release(world.at(5s)));
    CHECK(world.seen().holders.size() == 1);
    CHECK(lock.release(world.at(5s)));
    CHECK(world.seen().holders.empty());
  }
  SUBCASE("its claim is stale") {
    inner.ancestor = HeldClaim{world.spec.owner, FencingToken(1)};
    LeaseLock lock(world.settings, world.server.dial(), inner, Runtime{world.clock, world.log});
    const auto answer = lock.acquire(world.control);
    REQUIRE(answer);
    CHECK(std::get<Refused>(*answer).error.code == ErrorCode::kBusy);
  }
}

}  // namespace
}  // namespace dlock::mysql::lease_lock_test
