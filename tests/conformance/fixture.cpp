// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/fixture.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

#include "tests/support/acquisition.h"
#include "tests/support/keeper_store.h"
#include "tests/support/local_store.h"

namespace dlock::testing {
namespace {

/// What the fixtures' stores live in: removed when the program ends.
const std::string& local_directory() {
  static const TemporaryDirectory directory;
  return directory.path();
}

bool one_is_left_out = false;

/// A server's URL from the environment, in front of what the fixture's store says; see scripts/start-test-servers. In
/// CI one that is missing is a failure.
void add_server(std::vector<Fixture>& all, const char* variable, Fixture fixture) {
  const char* url = getenv(variable);
  const char* ci = getenv("CI");
  if (!url || *url == 0) one_is_left_out = true;
  if (url && *url == 0) return;  // by the caller
  if (url) {
    fixture.store = url + fixture.store;
    all.push_back(std::move(fixture));
  } else if (ci && std::string(ci) == "true") {
    throw std::runtime_error(std::string(variable) + " is not set: there is no server to test against");
  }
}

Fixture redis_native(const char* name) {
  return {.name = name,
          .store = {},
          .fair = false,
          .told_at_once = false,
          .freed_at_once = false,
          .fence_stays_open = false};
}

/// Those that only know exclusive locks, and who holds them.
Fixture redis_plain(const char* name) {
  Fixture fixture = redis_native(name);
  fixture.shared = fixture.permits = fixture.lock_delay = fixture.sees_waiters = false;
  return fixture;
}

Fixture mysql(const char* name, const char* query = "") {
  return {.name = name,
          .store = query,
          .told_at_once = false,
          .freed_at_once = false,
          .counts_entries = true,
          .fence_stays_open = false};
}

/// The strategies that only know exclusive locks.
Fixture mysql_exclusive(const char* name, const char* query) {
  Fixture fixture = mysql(name, query);
  fixture.tells_who_freed = false;
  fixture.shared = fixture.permits = fixture.lock_delay = false;
  return fixture;
}

/// Those whose lock is the connection: gone with it.
Fixture mysql_connection(const char* name, const char* query) {
  Fixture fixture = mysql_exclusive(name, query);
  fixture.told_at_once = true;
  fixture.detaches = false;
  return fixture;
}

/// The server shows a statement before it has put it into the queue of the row: two that come together may change
/// places.
Fixture mysql_row() {
  Fixture fixture = mysql_connection("mysql, row", "?strategy=row");
  fixture.fair = false;
  return fixture;
}

/// Those that wait by looking.
Fixture mysql_polled(const char* name, const char* query) {
  Fixture fixture = mysql_exclusive(name, query);
  fixture.fair = fixture.sees_waiters = false;
  return fixture;
}

Fixture zookeeper(const std::string& name, const std::string& rest_of_url = "") {
  return {.name = name, .store = rest_of_url, .freed_at_once = false, .tells_end = false, .fence_stays_open = false};
}

/// The protocols of one family, in a folder each: some have no readers, none but the bridge has permits beside other
/// modes.
Fixture zookeeper_without_permits(const std::string& recipe, bool shared) {
  Fixture fixture = zookeeper("zookeeper, " + recipe, "/" + recipe + "?recipe=" + recipe);
  fixture.shared = shared;
  fixture.permits = false;
  return fixture;
}

/// One node, which whoever comes at the right moment makes.
Fixture zookeeper_simple() {
  Fixture fixture = zookeeper_without_permits("simple", false);
  fixture.fair = fixture.sees_waiters = false;
  return fixture;
}

std::vector<Fixture> all_fixtures() {
  std::vector<Fixture> all{Fixture{.name = "local", .store = local_directory()}};
  add_server(all, "DLOCK_TEST_REDIS", redis_native("redis"));
  add_server(all, "DLOCK_TEST_REDIS_TLS", redis_native("redis with TLS"));
  add_server(all, "DLOCK_TEST_SENTINEL", redis_native("sentinel"));
  add_server(all, "DLOCK_TEST_CLUSTER", redis_native("cluster"));
  add_server(all, "DLOCK_TEST_REDLOCK", redis_plain("redlock"));
  add_server(all, "DLOCK_TEST_TAIR", redis_plain("tair"));
  add_server(all, "DLOCK_TEST_TAIR_EX", redis_plain("tair, versioned"));
  add_server(all, "DLOCK_TEST_MYSQL", mysql("mysql"));
  add_server(all, "DLOCK_TEST_MYSQL_STRATEGIES", mysql_connection("mysql, session", "?strategy=session"));
  add_server(all, "DLOCK_TEST_MYSQL_STRATEGIES", mysql_row());
  add_server(all, "DLOCK_TEST_MYSQL_STRATEGIES", mysql_polled("mysql, unique", "?strategy=unique"));
  add_server(all, "DLOCK_TEST_MYSQL_STRATEGIES", mysql_polled("mysql, occupy", "?strategy=occupy"));
  add_server(all, "DLOCK_TEST_ZK", zookeeper("zookeeper"));
  add_server(all, "DLOCK_TEST_ZK3", zookeeper("zookeeper, three servers"));
  add_server(all, "DLOCK_TEST_ZK_RECIPES", zookeeper_without_permits("mutex", false));
  add_server(all, "DLOCK_TEST_ZK_RECIPES", zookeeper_without_permits("rw", true));
  add_server(all, "DLOCK_TEST_ZK_RECIPES", zookeeper_without_permits("kazoo-lock", false));
  add_server(all, "DLOCK_TEST_ZK_RECIPES", zookeeper_simple());
  return all;
}

}  // namespace

std::vector<Fixture>& fixtures() {
  static std::vector<Fixture> all = all_fixtures();
  return all;
}

bool every_backend_runs() {
  fixtures();
  return !one_is_left_out;
}

std::unique_ptr<Client> connect(const std::string& store) {
  return store.starts_with("/") ? local_store(store) : keeper_store(store);
}

void on_every_backend(const std::string& key, const std::function<void(World&)>& test) {
  for (const Fixture& fixture : fixtures()) {
    INFO("backend: ", fixture.name);
    const auto a = connect(fixture.store);
    const auto b = connect(fixture.store);
    // Several runs, and several fixtures, may share a server.
    const auto number = &fixture - fixtures().data();
    World world{fixture, *a, *b, key + "." + std::to_string(getpid()) + "." + std::to_string(number)};
    test(world);
  }
}

}  // namespace dlock::testing
