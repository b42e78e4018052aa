// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "backends/zookeeper/lock/ensemble.h"
#include "backends/zookeeper/stock/stock_nodes.h"
#include "backends/zookeeper/stock/zookeeper_stock.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/zookeeper/fake_ensemble.h"

namespace dlock::zookeeper::testing {

using namespace std::chrono_literals;
using dlock::testing::FakeClock;
using Quantities = std::vector<Quantity>;

inline const LockName kPhone = *LockName::parse("phone");
inline const Owner kOwner = *Owner::parse("0123456789abcdef0123456789abcdef");
inline LockName id(const std::string& text) { return *LockName::parse(text); }
inline StockRequest order(const std::string& text, Quantity quantity) { return {kPhone, id(text), quantity}; }

class World {
 public:
  World() {
    ensemble.time_ms = [this] { return leader_ahead_ms + clock.since_start() / 1ms; };
  }
  Ensemble opened() {
    const auto url = BackendUrl::parse("zk://127.0.0.1/shop");
    return std::move(*Ensemble::of(*url, clock, [this](const SessionSettings& s) { return ensemble.open(s); }));
  }
  std::unique_ptr<Stock> client() { return make_stock(opened(), {clock, log}); }
  CallLimit limit() const { return {clock.now() + 5s}; }

  void create(Quantity quantity, int segments) {
    REQUIRE(client()->create(kPhone, quantity, segments, Owner::random(), limit()));
  }
  StockState state() {
    auto state = client()->show(kPhone, limit());
    INFO((state ? std::string() : state.error().message));
    REQUIRE(state);
    CHECK(state->total() + state->reserved() + state->taken - state->refunded == state->created + state->added);
    return std::move(*state);
  }
  Quantities quantities() {
    Quantities all;
    for (const StockSegment& segment : state().segments) all.push_back(segment.quantity);
    return all;
  }
  std::string head() const { return ensemble.nodes.at("/shop/%stock/phone").data; }
  std::string life() const { return life_path("/shop", parse_head(head())->life); }
  FakeEnsemble::Node& segment(int number) { return ensemble.nodes.at(segment_path(life(), number)); }

  FakeClock clock;
  FakeEnsemble ensemble;
  std::int64_t leader_ahead_ms = 1'000'000;
  const Log log{Log::Style{.quiet = true}};
};

}  // namespace dlock::zookeeper::testing
