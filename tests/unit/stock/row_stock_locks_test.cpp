// SPDX-License-Identifier: Apache-2.0
// The locks of segments: who has one, who waits for it, and how it is woken.
#include <doctest/doctest.h>

#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "lib/keeper/insist.h"
#include "lib/stock/taking.h"
#include "tests/unit/stock/row_stock_world.h"

namespace dlock::testing::row_stock_test {

TEST_CASE("stock on rows: with locks each segment has one reservation at a time, whatever call fails") {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    World w;
    w.create(400, 4);
    std::mt19937 random(seed);
    w.shelf.fault = seed % 2 ? RowShelf::Fault::kBefore : RowShelf::Fault::kAfter;
    w.shelf.between = [&] {
      if (random() % 5 == 0) w.shelf.fault_at = w.shelf.calls + 1;
    };
    struct Order {
      StockRequest request;
      Owner owner;
      StockParts parts;
    };
    std::vector<Order> running;
    Quantity sold = 0;
    for (int i = 0; i < 60; ++i) {
      Stock& stock = random() % 2 ? *w.a : *w.b;
      Order order{{kPhone, name_of("o", i), random() % 6 ? 1 : 150, true}, Owner::random(), {}};
      const auto got = insist([&](const CallLimit& l) { return stock.reserve(order.request, order.owner, 1h, i, l); },
                              w.clock.now() + 20s, w.clock, nullptr);
      REQUIRE(got);
      if (const auto* taken = std::get_if<StockTaken>(&*got)) {
        order.parts = taken->parts;
        for (const Order& other : running) {
          for (const StockPart& part : other.parts) {
            for (const StockPart& ours : order.parts) CHECK(part.segment != ours.segment);
          }
        }
        running.push_back(order);
      }
      if (running.empty() || (running.size() < 4 && random() % 3 > 0)) continue;
      const Order done = running.front();
      running.erase(running.begin());
      const bool sells = random() % 2 == 0;
      CHECK(insist(
          [&](const CallLimit& l) {
            return sells ? stock.confirm(done.request, done.owner, l) : stock.cancel(done.request, done.owner, l);
          },
          w.clock.now() + 20s, w.clock, nullptr));
      if (sells) sold += done.request.quantity;
    }
    w.clock.advance(2h);
    const StockState state = w.state();
    CHECK(state.taken == sold);
    CHECK(state.reserved() == 0);
    for (const StockSegment& segment : state.segments) CHECK_FALSE(segment.locked_by);
  }
}

TEST_CASE(
    "stock on rows: who waits for a lock is told, gets what a dead one had, and looks now and then where nobody "
    "tells") {
  for (const bool tells : {true, false}) {
    World w;
    w.shelf.tells = tells;
    w.create(5, 1);
    const StockRequest first{kPhone, name_of("o", 1), 1, true}, second{kPhone, name_of("o", 2), 1, true};
    const Owner a = Owner::random(), b = Owner::random();
    REQUIRE(w.a->reserve(first, a, 5s, 0, w.limit()));
    const auto answer = w.b->reserve(second, b, 5s, 0, w.limit());
    REQUIRE(answer);
    REQUIRE(std::holds_alternative<StockInProgress>(*answer));
    REQUIRE(std::get<StockInProgress>(*answer).locked);
    const TimePoint before = w.clock.now();
    CHECK(w.b->wait_for(kPhone, {0, 0ms}, 10ms, w.limit()));
    CHECK(w.clock.now() - before == (tells ? 1s : 10ms));
    CHECK(w.a->confirm(first, a, w.limit()));
    CHECK(w.b->wait_for(kPhone, {0, 0ms}, 10ms, w.limit()));
    CHECK(w.clock.now() - before <= 1s + 10ms);
    REQUIRE(w.b->reserve(second, b, 5s, 0, w.limit()));
    const StockRequest third{kPhone, name_of("o", 3), 1, true};
    const auto next = [&](int start, const CallLimit& limit) { return w.a->reserve(third, a, 5s, start, limit); };
    const auto pause = [&](const StockInProgress::Turn& turn, Duration length, const CallLimit& limit) {
      return w.a->wait_for(kPhone, turn, length, limit);
    };
    const auto taken = take_when_possible(third, next, {}, w.clock, nullptr, pause);  // `second` was killed
    REQUIRE(taken);
    CHECK(w.clock.now() - before <= 8s);
    CHECK(w.state().reserved() == 1);
  }
}

TEST_CASE(
    "stock on rows: who was beaten to a lock looks at some locks again, at all segments only if the free one is "
    "short") {
  World w;
  w.create(100, 100);
  const auto rows_for = [&](const StockRequest& request) {
    const std::size_t before = w.shelf.shown;
    const auto got = w.a->reserve(request, Owner::random(), 1h, 1, w.limit());
    REQUIRE(got);
    CHECK(std::holds_alternative<StockTaken>(*got));
    return w.shelf.shown - before;
  };
  REQUIRE(w.a->take({kPhone, name_of("known", 1), 1}, 50, w.limit()));
  bool beaten = false;
  w.shelf.between = [&] {
    if (w.shelf.shown == 0 || std::exchange(beaten, true)) return;
    REQUIRE(w.b->reserve({kPhone, name_of("other", 1), 1, true}, Owner::random(), 1h, 1, w.limit()));
  };
  w.shelf.shown = 0;
  CHECK(rows_for({kPhone, name_of("o", 1), 1, true}) < 100);
  CHECK(beaten);
  CHECK(rows_for({kPhone, name_of("o", 2), 2, true}) > 100);
}

namespace {

/// A stock each of whose segments is held for an hour, by `a`, which can free one of them.
struct LockedWorld : World {
  explicit LockedWorld(int segments) {
    create(100 * segments, segments);
    for (int i = 0; i < segments; ++i) {
      const auto held = a->reserve(holder(i), owner, 1h, i, limit());
      REQUIRE(held);
      REQUIRE(std::get<StockTaken>(*held).parts == StockParts{{i, 1}});
    }
  }

  StockRequest holder(int segment) const { return {kPhone, name_of("held", segment), 1, true}; }
  void release(int segment) { CHECK(a->cancel(holder(segment), owner, limit())); }
  /// As `run` takes: what `stock` has, tried for the first time from the segment `start` on.
  Result<StockTaken> take(Stock& stock, int start, const WaitPolicy& wait) {
    const StockRequest request{kPhone, name_of("taker", ++takers), 1, true};
    bool first = true;
    const auto next = [&](int from, const CallLimit& until) {
      return stock.reserve(request, owner, 1h, std::exchange(first, false) ? start : from, until);
    };
    const auto pause = [&](const StockInProgress::Turn& turn, Duration length, const CallLimit& until) {
      return stock.wait_for(kPhone, turn, length, until);
    };
    return take_when_possible(request, next, wait, clock, nullptr, pause);
  }

  Owner owner = Owner::random();
  int takers = 0;
};

}  // namespace

TEST_CASE("stock on rows: who waits for a lock takes any that becomes free, soon, whichever it waits for") {
  for (const bool tells : {true, false}) {
    for (int start = 1; start < 8; ++start) {
      LockedWorld w(8);
      w.shelf.tells = tells;
      const TimePoint began = w.clock.now();
      bool freed = false;
      w.shelf.between = [&] {
        if (!freed && w.clock.now() >= began + 4s) freed = true, w.release(3);
      };
      const auto taken = w.take(*w.b, start, {.until = began + 14s});
      INFO((taken ? std::string() : taken.error().message));
      REQUIRE(taken);
      CHECK(taken->parts == StockParts{{3, 1}});
      CHECK(w.clock.now() - began <= 6500ms);
    }
  }
}

TEST_CASE("stock on rows: who does not wait is told that all are locked after a look at all of them") {
  for (int start = 0; start < 24; ++start) {
    LockedWorld w(24);
    REQUIRE(w.b->show(kPhone, w.limit()));
    const auto refused = w.take(*w.b, start, {.once = true});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::kBusy);
    w.release(5);
    const auto taken = w.take(*w.b, start, {.once = true});
    REQUIRE(taken);
    CHECK(taken->parts == StockParts{{5, 1}});
  }
}

TEST_CASE("stock on rows: who has not seen the stock before takes from any of its many segments, where it begins") {
  World w;
  w.create(400, 40);
  const Owner owner = Owner::random();
  for (const int start : {0, 19, 20, 26, 39}) {
    const StockRequest request{kPhone, name_of("o", start), 1, true};
    const int calls = w.shelf.calls;
    const auto answer = w.client()->reserve(request, owner, 1h, start, w.limit());
    REQUIRE(answer);
    REQUIRE(std::holds_alternative<StockTaken>(*answer));
    CHECK(std::get<StockTaken>(*answer).parts == StockParts{{start, 1}});
    CHECK(w.shelf.calls - calls == 3);
  }
}

TEST_CASE("stock on rows: who has not seen the stock before finds the one free lock of many") {
  for (int start = 0; start < 40; ++start) {
    LockedWorld w(40);
    w.release(26);
    const auto taken = w.take(*w.client(), start, {.once = true});
    INFO((taken ? std::string() : taken.error().message));
    REQUIRE(taken);
    CHECK(taken->parts == StockParts{{26, 1}});
  }
}

namespace {

/// Two clients of a stock whose store has a queue for each lock, and its orders.
struct QueueWorld : World {
  explicit QueueWorld(int segments) {
    shelf.tells = false;
    shelf.queues = true;
    create(100, segments);
    REQUIRE(b->show(kPhone, limit()));
  }

  StockRequest order(int number) const { return {kPhone, name_of("o", number), 1, true}; }
  /// The segment that it has, or nullopt if it is locked out; within `most` calls.
  std::optional<int> segment_of(Stock& stock, const StockRequest& request, int start, int most) {
    const int before = shelf.calls;
    const auto answer = stock.reserve(request, owner, 5s, start, limit());
    REQUIRE(answer);
    CHECK(shelf.calls - before <= most);
    const auto* taken = std::get_if<StockTaken>(&*answer);
    return taken ? std::optional(taken->parts.front().segment) : std::nullopt;
  }
  /// As who waits does, until it has it; how long that took.
  Duration wait_and_take(Stock& stock, const StockRequest& request) {
    const TimePoint began = clock.now();
    const auto next = [&](int start, const CallLimit& until) {
      return stock.reserve(request, owner, 5s, start, until);
    };
    const auto pause = [&](const StockInProgress::Turn& turn, Duration length, const CallLimit& until) {
      return stock.wait_for(kPhone, turn, length, until);
    };
    CHECK(take_when_possible(request, next, {}, clock, nullptr, pause));
    return clock.now() - began;
  }

  Owner owner = Owner::random();
};

}  // namespace

TEST_CASE("stock on rows: where locks have queues, who orders takes a turn and commits, and looks at nothing") {
  QueueWorld w(20);
  CHECK(w.segment_of(*w.a, w.order(1), 7, 2) == 7);
  CHECK(w.segment_of(*w.b, w.order(2), 7, 2) == 8);
  CHECK(w.a->confirm(w.order(1), w.owner, w.limit()));
  CHECK(w.segment_of(*w.a, w.order(3), 7, 2) == 7);
}

TEST_CASE("stock on rows: where locks have queues, who waits is called, and nobody comes before it") {
  QueueWorld w(1);
  REQUIRE(w.segment_of(*w.a, w.order(1), 0, 2) == 0);
  REQUIRE_FALSE(w.segment_of(*w.b, w.order(2), 0, 1));
  w.shelf.during_wait = [&] { CHECK(w.a->confirm(w.order(1), w.owner, w.limit())); };
  CHECK(w.b->wait_for(kPhone, {0, 0ms}, 1ms, w.limit()));
  w.shelf.during_wait = {};
  CHECK_FALSE(w.segment_of(*w.a, w.order(3), 0, 1));
  CHECK(w.segment_of(*w.b, w.order(2), 0, 1) == 0);
}

TEST_CASE("stock on rows: where locks have queues, a lock whose reservation is over is freed though its turn is held") {
  QueueWorld w(1);
  REQUIRE(w.segment_of(*w.a, w.order(1), 0, 2) == 0);
  const Duration took = w.wait_and_take(*w.b, w.order(2));
  CHECK(took >= 5s);
  CHECK(took <= 8s);
}

TEST_CASE("stock on rows: where locks have queues, a turn whose lock is held makes nobody ask again and again") {
  QueueWorld w(1);
  REQUIRE(w.segment_of(*w.a, w.order(1), 0, 2) == 0);
  w.shelf.turns.clear();  // its connection has ended
  const int calls = w.shelf.calls;
  const Duration took = w.wait_and_take(*w.b, w.order(2));
  CHECK(took >= 5s);
  CHECK(took <= 8s);
  CHECK(w.shelf.calls - calls < 400);
}

TEST_CASE(
    "stock on rows: where locks have queues, one that is short is seen by whose turn it is, and the turn passes on") {
  QueueWorld w(1);
  REQUIRE(w.a->take({kPhone, name_of("all", 1), 100}, 0, w.limit()));
  const auto answer = w.b->reserve(w.order(1), w.owner, 5s, 0, w.limit());
  REQUIRE(answer);
  CHECK(std::holds_alternative<StockShort>(*answer));
  CHECK(w.shelf.turns.empty());
}

}  // namespace dlock::testing::row_stock_test
