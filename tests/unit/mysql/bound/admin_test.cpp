// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/bound/admin.h"

#include <doctest/doctest.h>

#include "tests/unit/mysql/lock_world.h"

namespace dlock::mysql::bound_admin_test {
namespace {

using namespace std::chrono_literals;
using testing::FakeServer;
using Fault = FakeServer::Fault;

constexpr char kMariaDb[] = "information_schema.INNODB_LOCK_WAITS";
constexpr char kMySql8[] = "performance_schema.data_lock_waits";
constexpr int kUnknownView = 1109;
constexpr int kNoProcess = 1227;
constexpr int kNoSelect = 1142;

/// The row of k, which somebody without dlock has locked.
struct World {
  World() : server(clock) {
    settings.strategy = Strategy::kRow;
    settings.store = "mysql://u@h/db";
    settings.servers.push_back({.endpoint = {"h", 3306, ""}, .user = "u", .password = "", .database = "db", .tls = {}});
  }

  void is_locked() {
    server.next("LIMIT 1", Answer{{{"1"}}, 0});
    server.next("FOR UPDATE NOWAIT", 1205);
  }
  /// The session 9 waits, and the server says that `blockers` are in its way.
  void tells(const char* view, std::vector<Row> blockers) {
    is_locked();
    if (view == kMySql8) server.next(kMariaDb, kUnknownView);
    server.next(view, Answer{});
    server.next("SELECT CONNECTION_ID()", Answer{{{"9"}}, 0});
    server.next("FOR UPDATE", Fault::kSilent);
    server.next(view, Answer{std::move(blockers), 0});
  }
  Result<LockState> seen() { return view().inspect(name); }
  BoundAdmin& view() {
    if (!made) made.emplace(settings, Servers(settings.servers, server.dial(), clock), Runtime{clock, log});
    return *made;
  }

  testing::FakeClock clock;
  Log log;
  FakeServer server;
  Settings settings;
  const LockName name = *LockName::parse("k");
  std::optional<BoundAdmin> made;
};

const Row kFive{"5", "app", "10.0.0.7:50630", "1000000000000000"};
const Row kSix{"6", "app", "10.0.0.8:50630", "1000000000000000"};

TEST_CASE("a foreign session that has locked the row is found by waiting for it, and that wait is ended") {
  for (const char* view : {kMariaDb, kMySql8}) {
    CAPTURE(view);
    World world;
    world.tells(view, {kFive});
    const auto state = world.seen();
    REQUIRE(state);
    CHECK(world.server.planned.empty());
    REQUIRE(state->holders.size() == 1);
    const Participant& holder = state->holders.front();
    CHECK(holder.owner == "connection 5");
    CHECK(holder.user == "app");
    CHECK(holder.host == "10.0.0.7:50630");
    CHECK(holder.since == WallTime(0s));  // on our clock
    CHECK(holder.note == "another program, connection 5");
    CHECK(world.server.heard("KILL 9") == 1);
    CHECK(world.server.heard("KILL 5") == 0);
  }
}

TEST_CASE("force-release ends nobody once the foreign holders are others") {
  World world;
  world.tells(kMariaDb, {kFive, kSix});
  const auto shown = world.seen();
  REQUIRE(shown);
  SUBCASE("one of them has ended") { world.tells(kMariaDb, {kFive}); }
  SUBCASE("another one has come") { world.tells(kMariaDb, {kFive, {"7", "app", "10.0.0.9:50630", "1"}}); }
  SUBCASE("it is free") {
    world.server.next("LIMIT 1", Answer{{{"1"}}, 0});
    world.server.next("FOR UPDATE NOWAIT", Answer{{{"1"}}, 0});
  }
  const auto freed = world.view().force_release(world.name, *shown, "");
  REQUIRE_FALSE(freed);
  CHECK(freed.error().code == ErrorCode::kConflict);
  CHECK(world.server.planned.empty());
  CHECK(world.server.heard("KILL 5") + world.server.heard("KILL 6") == 0);
}

TEST_CASE("the right that is missing is named, for each kind of server") {
  World world;
  bool mysql8 = false;
  SUBCASE("MariaDB") {}
  SUBCASE("MySQL 8") { mysql8 = true; }
  const auto refuses = [&] {
    world.is_locked();
    world.server.next(kMariaDb, mysql8 ? kUnknownView : kNoProcess);
    if (mysql8) world.server.next(kMySql8, kNoSelect);
  };
  refuses();
  const auto shown = world.seen();
  REQUIRE(shown);
  REQUIRE(shown->holders.size() == 1);
  CHECK(shown->holders.front().note == "another program");
  refuses();
  const auto freed = world.view().force_release(world.name, *shown, "");
  REQUIRE_FALSE(freed);
  CHECK(freed.error().code == ErrorCode::kDenied);
  CHECK(freed.error().next.find("GRANT PROCESS ON *.* TO u") != std::string::npos);
  CHECK((freed.error().next.find("GRANT SELECT ON performance_schema.* TO u") != std::string::npos) == mysql8);
  CHECK(world.server.heard("KILL") == 0);
}

}  // namespace
}  // namespace dlock::mysql::bound_admin_test
