// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/stock/stock_session.h"

#include <doctest/doctest.h>

#include "tests/unit/zookeeper/lock_world.h"
#include "tests/unit/zookeeper/stock/stock_world.h"

namespace dlock::zookeeper::stock_session_test {

using namespace testing;

TEST_CASE("A stock's session that the servers have lost with all data is replaced, once it would have ended") {
  World w;
  w.create(9, 1);
  const auto stock = w.client();
  REQUIRE(stock->take(order("a", 2), 0, w.limit()));
  w.ensemble.empty();
  const auto refused = stock->take(order("b", 2), 0, w.limit());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kUnavailable);
  w.create(7, 1);
  while (w.clock.since_start() < w.ensemble.last_timeout - 1s) {
    CHECK_FALSE(stock->take(order("b", 2), 0, {w.clock.now() + 1s}));
  }
  CHECK(stock->take(order("b", 2), 0, w.limit()));
  CHECK(w.quantities() == Quantities{5});
}

TEST_CASE("A stock's session that was left alone for half of its time is replaced before somebody asks in it") {
  World w;
  w.create(9, 1);
  const auto stock = w.client();
  REQUIRE(stock->take(order("a", 1), 0, w.limit()));
  const auto session = [&] { return w.ensemble.sessions.back()->id(); };
  const std::int64_t first = session();
  for (int i = 0; i < 9; ++i) {
    w.clock.advance(w.ensemble.last_timeout / 3);
    CHECK(stock->show(kPhone, w.limit()));
  }
  CHECK(session() == first);
  w.clock.advance(w.ensemble.last_timeout / 2);
  CHECK(stock->show(kPhone, w.limit()));
  CHECK(session() != first);
}

TEST_CASE("A reservation that is renewed every third of its ttl has a session that lasts from one to the next") {
  World w;
  w.create(9, 1);
  const auto stock = w.client();
  REQUIRE(stock->reserve(order("a", 1), kOwner, 60s, 0, w.limit()));
  w.clock.advance(20s);
  REQUIRE(stock->extend(order("a", 1), kOwner, 60s, w.limit()));
  CHECK(w.ensemble.last_timeout == 90s);
  const std::int64_t session = w.ensemble.sessions.back()->id();
  for (int i = 0; i < 3; ++i) {
    w.clock.advance(20s);
    CHECK(stock->extend(order("a", 1), kOwner, 60s, w.limit()));
  }
  CHECK(w.ensemble.sessions.back()->id() == session);
}

TEST_CASE("Who waits for a segment's lock in a session that the servers have lost queues in a new one") {
  World w;
  w.create(9, 1);
  const auto first = w.client();
  const auto second = w.client();
  LockSpec spec = lock_test::spec_of();
  spec.name = *LockName::parse("stock:phone:0");
  spec.wait.until = w.clock.now() + 1000s;
  lock_test::Supervisor control;
  const auto holder = first->segment_locks()->open(0, spec);
  REQUIRE(lock_test::granted(holder->acquire(control)));
  bool emptied = false;
  w.clock.next_happening = [&]() -> std::optional<TimePoint> {
    if (emptied) return std::nullopt;
    emptied = w.clock.since_start() >= 1s;
    if (emptied) w.ensemble.empty();
    return emptied ? w.clock.now() : FakeClock::start() + 1s;
  };
  const auto waiter = second->segment_locks()->open(0, spec);
  REQUIRE(lock_test::granted(waiter->acquire(control)));
  CHECK(w.clock.since_start() >= 1s + w.ensemble.last_timeout);
  CHECK_FALSE(std::holds_alternative<RenewalRenewed>(holder->renew(control, w.clock.now() + 1s)));
}

}  // namespace dlock::zookeeper::stock_session_test
