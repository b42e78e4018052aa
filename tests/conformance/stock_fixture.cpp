// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/stock_fixture.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

#include "tests/support/acquisition.h"
#include "tests/support/stock_clients.h"

namespace dlock::testing {
namespace {

using namespace std::chrono_literals;

const std::string& stock_directory() {
  static const TemporaryDirectory directory;
  return directory.path();
}

void add_server(std::vector<StockFixture>& all, const char* name, const char* variable, const std::string& more = "",
                bool begins_at_start = true) {
  const char* url = getenv(variable);
  const char* ci = getenv("CI");
  if (url && *url) all.push_back({name, url + more, begins_at_start});
  if (!url && ci && std::string(ci) == "true") {
    throw std::runtime_error(std::string(variable) + " is not set: there is no server to test against");
  }
}

std::vector<StockFixture> all_stock_fixtures() {
  std::vector<StockFixture> all{{"local", "local:" + stock_directory()}};
  add_server(all, "redis", "DLOCK_TEST_REDIS");
  add_server(all, "sentinel", "DLOCK_TEST_SENTINEL");
  add_server(all, "cluster", "DLOCK_TEST_CLUSTER");
  add_server(all, "redis, counters", "DLOCK_TEST_REDIS", "?stock=decr");
  add_server(all, "redis, three slots", "DLOCK_TEST_REDIS", "?stock_slots=3", false);
  add_server(all, "cluster, two slots", "DLOCK_TEST_CLUSTER", "?stock_slots=2", false);
  add_server(all, "cluster, eight slots, counters", "DLOCK_TEST_CLUSTER", "?stock_slots=8&stock=decr", false);
  add_server(all, "tair", "DLOCK_TEST_TAIR", "", false);
  add_server(all, "tair, one slot", "DLOCK_TEST_TAIR", "?stock_slots=1");
  for (const char* way : {"guarded", "pessimistic", "optimistic"}) {
    add_server(all, way, "DLOCK_TEST_MYSQL", std::string("?stock=") + way);
  }
  add_server(all, "zk", "DLOCK_TEST_ZK");
  add_server(all, "zk3", "DLOCK_TEST_ZK3");
  return all;
}

}  // namespace

const std::vector<StockFixture>& stock_fixtures() {
  static const std::vector<StockFixture> all = all_stock_fixtures();
  return all;
}

CallLimit StockWorld::limit() const { return {test_clock().now() + 10s}; }

StockRequest StockWorld::request(const std::string& id, Quantity quantity) const {
  return {name, *LockName::parse(id), quantity};
}

void StockWorld::create(Quantity quantity, int segments) {
  const auto made = a.create(name, quantity, segments, Owner::random(), limit());
  INFO((made ? std::string() : made.error().message));
  REQUIRE(made);
}

StockState StockWorld::state() {
  auto state = b.show(name, limit());
  INFO((state ? std::string() : state.error().message));
  REQUIRE(state);
  return std::move(*state);
}

std::vector<Quantity> StockWorld::quantities() {
  std::vector<Quantity> all;
  for (const StockSegment& segment : state().segments) all.push_back(segment.quantity);
  return all;
}

StockTaken StockWorld::take(const std::string& id, Quantity quantity, int start) {
  const auto answer = a.take(request(id, quantity), start, limit());
  INFO((answer ? std::string() : answer.error().message));
  REQUIRE(answer);
  REQUIRE(std::holds_alternative<StockTaken>(*answer));
  return std::get<StockTaken>(*answer);
}

void StockWorld::take_from(int segment, const std::string& id, Quantity quantity) {
  StockRequest here = request(id, quantity);
  here.only_segment = segment;
  const auto answer = a.take(here, 0, limit());
  REQUIRE(answer);
  REQUIRE(std::holds_alternative<StockTaken>(*answer));
}

void on_every_stock(const std::string& name, const std::function<void(StockWorld&)>& test) {
  for (const StockFixture& fixture : stock_fixtures()) {
    INFO("store: ", fixture.name);
    const auto a = connect_stock(fixture.url);
    const auto b = connect_stock(fixture.url);
    StockWorld world{fixture, *a, *b, *LockName::parse(name + "." + std::to_string(getpid()))};
    test(world);
    if (const auto state = b->show(world.name, world.limit())) {
      CHECK(state->total() + state->reserved() + state->taken - state->refunded == state->created + state->added);
      CHECK(b->drop(world.name, world.limit()));
    }
  }
}

}  // namespace dlock::testing
