// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/stock_fixture.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include "tests/support/acquisition.h"
#include "tests/support/store_table.h"
#include "tests/support/stores.h"

namespace dlock::testing {
namespace {

using namespace std::chrono_literals;

const std::string& stock_directory() {
  static const TemporaryDirectory directory;
  return directory.path();
}

std::vector<StockFixture> all_stock_fixtures() {
  std::vector<StockFixture> all;
  for (const FoundStore& found : stores_of("stock", "local:" + stock_directory(), {})) {
    all.push_back({found.row.name, found.url});
  }
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
  return taken(a.take(request(id, quantity), start, limit()));
}

void StockWorld::take_from(int segment, const std::string& id, Quantity quantity) {
  CHECK(take(id, quantity, segment).parts == StockParts{{segment, quantity}});
}

LockName id(const std::string& text) { return *LockName::parse(text); }

StockTaken taken(const Result<StockAnswer>& answer) {
  INFO((answer ? std::string() : answer.error().message));
  REQUIRE(answer);
  REQUIRE(std::holds_alternative<StockTaken>(*answer));
  return std::get<StockTaken>(*answer);
}

StockShort too_short(const Result<StockAnswer>& answer) {
  REQUIRE(answer);
  REQUIRE(std::holds_alternative<StockShort>(*answer));
  return std::get<StockShort>(*answer);
}

Quantity reserved_in(const StockState& state, int segment) {
  return state.segments[static_cast<std::size_t>(segment)].reserved;
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
