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

/// A server's URL from the environment, see scripts/start-test-servers. In CI one that is missing is a failure.
void add_server(std::vector<Fixture>& all, const char* variable, Fixture fixture) {
  const char* url = getenv(variable);
  const char* ci = getenv("CI");
  if (url && *url == 0) return;  // left out by the caller
  if (url) {
    fixture.store = url;
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

std::vector<Fixture> all_fixtures() {
  std::vector<Fixture> all{Fixture{.name = "local", .store = local_directory()}};
  add_server(all, "DLOCK_TEST_REDIS", redis_native("redis"));
  add_server(all, "DLOCK_TEST_REDIS_TLS", redis_native("redis with TLS"));
  add_server(all, "DLOCK_TEST_SENTINEL", redis_native("sentinel"));
  add_server(all, "DLOCK_TEST_CLUSTER", redis_native("cluster"));
  add_server(all, "DLOCK_TEST_REDLOCK", redis_plain("redlock"));
  add_server(all, "DLOCK_TEST_TAIR", redis_plain("tair"));
  add_server(all, "DLOCK_TEST_TAIR_EX", redis_plain("tair, versioned"));
  return all;
}

}  // namespace

std::vector<Fixture>& fixtures() {
  static std::vector<Fixture> all = all_fixtures();
  return all;
}

std::unique_ptr<Backend> connect(const std::string& store) {
  return store.starts_with("/") ? local_store(store) : keeper_store(store);
}

void on_every_backend(const std::string& key, const std::function<void(World&)>& test) {
  for (const Fixture& fixture : fixtures()) {
    INFO("backend: ", fixture.name);
    const auto a = connect(fixture.store);
    const auto b = connect(fixture.store);
    // Several runs may share the servers.
    World world{fixture, *a, *b, key + "." + std::to_string(getpid())};
    test(world);
  }
}

}  // namespace dlock::testing
