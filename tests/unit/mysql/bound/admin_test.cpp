// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/bound/admin.h"

#include <doctest/doctest.h>

#include "tests/unit/mysql/lock_world.h"

namespace dlock::mysql::bound_admin_test {
namespace {

using testing::FakeServer;

/// The row of k, which somebody without dlock has locked.
struct World {
  World() : server(clock) {
    settings.strategy = Strategy::kRow;
    settings.store = "mysql://u@h/db";
    settings.servers.push_back({.endpoint = {"h", 3306, ""}, .user = "u", .password = "", .database = "db", .tls = {}});
  }

  void is_locked(int looks) {
    for (int i = 0; i < looks; ++i) {
      server.next("LIMIT 1", Answer{{{"1"}}, 0});
      server.next("FOR UPDATE NOWAIT", 1205);
    }
  }
  BoundAdmin view() { return {settings, Servers(settings.servers, server.dial(), clock), Runtime{clock, log}}; }

  testing::FakeClock clock;
  Log log;
  FakeServer server;
  Settings settings;
  const LockName name = *LockName::parse("k");
};

TEST_CASE("a row that is locked without a record is another session's, which is not sought and not ended") {
  World world;
  world.is_locked(8);
  const auto shown = world.view().inspect(world.name);
  REQUIRE(shown);
  REQUIRE(shown->holders.size() == 1);
  CHECK(shown->holders.front().note == "another session");
  CHECK(shown->holders.front().owner.empty());
  CHECK(world.server.planned.empty());
  SUBCASE("it still is") {
    world.is_locked(1);
    const auto freed = world.view().force_release(world.name, *shown, "");
    REQUIRE_FALSE(freed);
    CHECK(freed.error().code == ErrorCode::kUnsupported);
    CHECK(freed.error().next.find("XA RECOVER") != std::string::npos);
  }
  SUBCASE("it is free by now") {
    world.server.next("LIMIT 1", Answer{{{"1"}}, 0});
    world.server.next("FOR UPDATE NOWAIT", Answer{{{"1"}}, 0});
    const auto freed = world.view().force_release(world.name, *shown, "");
    REQUIRE_FALSE(freed);
    CHECK(freed.error().code == ErrorCode::kConflict);
  }
  CHECK(world.server.heard("KILL") == 0);
}

TEST_CASE("a row whose record is just being written, or that was locked by another look, is looked at again") {
  World world;
  world.is_locked(2);
  world.server.next("LIMIT 1", Answer{{{"1"}}, 0});
  world.server.next("FOR UPDATE NOWAIT", Answer{{{"1"}}, 0});
  const auto shown = world.view().inspect(world.name);
  REQUIRE(shown);
  CHECK(shown->holders.empty());
}

}  // namespace
}  // namespace dlock::mysql::bound_admin_test
