// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/stock/stock_garbage.h"

#include <doctest/doctest.h>

#include "tests/unit/zookeeper/stock/stock_world.h"

namespace dlock::zookeeper::stock_garbage_test {

using namespace testing;

TEST_CASE("A drop that got no further than its first step is finished by gc") {
  World w;
  w.create(9, 3);
  const auto stock = w.client();
  REQUIRE(stock->take(order("a", 1), 0, w.limit()));
  const std::string life = w.life();
  w.ensemble.before_each = [&](const FakeEnsemble::FakeSession& /*session*/, const Request& request) {
    if (request.kind == Request::Kind::kList) w.ensemble.sessions.front()->silent = true;
  };
  CHECK(stock->drop(kPhone, w.limit()));
  w.ensemble.before_each = nullptr;
  w.create(4, 2);  // nothing of it is in the way
  CHECK(w.ensemble.nodes.contains(life));
  StockSession session(w.opened(), {w.clock, w.log});
  CHECK(sweep_stocks(session, true, w.limit())->size() == 1);
  CHECK(w.ensemble.nodes.contains(life));
  CHECK(sweep_stocks(session, false, w.limit())->size() == 1);
  CHECK_FALSE(w.ensemble.nodes.contains(life));
  CHECK(sweep_stocks(session, false, w.limit())->empty());
  CHECK(w.quantities() == Quantities{2, 2});
}

TEST_CASE("gc forgets requests of more than 30 days, by the leader's clock, and no reservation") {
  World w;
  w.create(9, 3);
  const auto stock = w.client();
  REQUIRE(stock->take(order("old", 1), 0, w.limit()));
  REQUIRE(stock->reserve(order("aside", 1), kOwner, 24h * 365, 0, w.limit()));
  w.clock.advance(kRequestKept + 1s);
  REQUIRE(stock->take(order("new", 1), 0, w.limit()));
  StockSession session(w.opened(), {w.clock, w.log});
  const auto swept = sweep_stocks(session, false, w.limit());
  REQUIRE(swept);
  REQUIRE(swept->size() == 1);
  CHECK(swept->front().what == "requests to its stock, older than 30 days: 1");
  CHECK_FALSE(w.ensemble.nodes.contains(request_path(w.life(), id("old"))));
  CHECK(w.ensemble.nodes.contains(request_path(w.life(), id("new"))));
  CHECK(w.ensemble.nodes.contains(request_path(w.life(), id("aside"))));
  CHECK(w.state().taken == 2);
}

}  // namespace dlock::zookeeper::stock_garbage_test
