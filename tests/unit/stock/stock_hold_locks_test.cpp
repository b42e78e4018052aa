// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "tests/unit/stock/stock_bench.h"

namespace dlock::stock_hold_locks_test {
namespace {

using namespace std::chrono_literals;
using testing::granted;
using testing::refused;
using testing::StockBench;

}  // namespace

TEST_CASE("stock hold with locks: the segment that is taken from is locked meanwhile") {
  StockBench b({5, 5, 5});
  StockHold hold = b.hold(2, true);
  const Granted grant = granted(hold.acquire(b.control));
  const auto parts = parse_parts(grant.locks.front().parts);
  REQUIRE(b.segments.ours.size() == 1);
  CHECK(*b.segments.ours.begin() == "stock:phone:" + std::to_string(parts->front().segment));
  CHECK(hold.release(b.soon()));
  CHECK(b.segments.ours.empty());
}

TEST_CASE("stock hold with locks: after an answer that was lost the lock is that of the segment that was taken from") {
  for (const bool own : {false, true}) {
    for (int i = 0; i < 20; ++i) {
      CAPTURE(own);
      StockBench b({5, 5, 5, 5});
      b.has_own_locks = own;
      b.shelf.unanswered = 1;
      StockHold hold = b.hold(2, true);
      const Granted grant = granted(hold.acquire(b.control));
      const auto parts = parse_parts(grant.locks.front().parts);
      CHECK(b.segments.ours == std::set<std::string>{"stock:phone:" + std::to_string(parts->front().segment)});
      CHECK(b.aside() == 2);
      CHECK(hold.release(b.soon()));
      CHECK(b.there() == 20);
    }
  }
}

TEST_CASE("stock hold with locks: an answer that was lost is not waited for as if it were somebody else's") {
  StockBench b({2});
  b.shelf.unanswered = 1;
  StockHold hold = b.hold(2, true);
  granted(hold.acquire(b.control));
  CHECK(b.clock.since_start() < 1s);
  CHECK(b.aside() == 2);
}

TEST_CASE("stock hold with locks: who gives up after an answer that was lost leaves nothing") {
  StockBench b({2, 1});
  b.shelf.unanswered = 1;
  b.wish.wait.connect_timeout = 1s;
  // What the lost request took is given back at last, though the segment is somebody else's by then.
  b.clock.next_happening = [&]() -> std::optional<TimePoint> {
    b.segments.taken = {"stock:phone:0"};
    return std::nullopt;
  };
  b.wish.wait.until = b.clock.now() + 3s;
  StockHold hold = b.hold(2, true);
  CHECK(refused(hold.acquire(b.control)).code == ErrorCode::kBusy);
  CHECK(b.aside() == 0);
}

TEST_CASE("stock hold with locks: a locked segment and a short one are left for the next") {
  for (int i = 0; i < 20; ++i) {
    StockBench b({5, 1, 5});
    b.segments.taken = {"stock:phone:0"};
    StockHold hold = b.hold(2, true);
    CHECK(granted(hold.acquire(b.control)).locks.front().parts == "2:2");
    CHECK(b.segments.ours == std::set<std::string>{"stock:phone:2"});
    CHECK(std::count(b.segments.tried.begin(), b.segments.tried.end(), "stock:phone:1") == 0);
  }
}

TEST_CASE("stock hold with locks: when all that have enough are locked it waits, or is busy with -n") {
  StockBench b({5, 1});
  b.segments.taken = {"stock:phone:0"};
  SUBCASE("waits") {
    b.clock.next_happening = [&]() -> std::optional<TimePoint> {
      if (b.clock.since_start() > 1s) b.segments.taken.clear();
      return std::nullopt;
    };
    StockHold hold = b.hold(2, true);
    granted(hold.acquire(b.control));
    CHECK(b.clock.since_start() > 1s);
  }
  SUBCASE("-n") {
    b.wish.wait.once = true;
    StockHold hold = b.hold(2, true);
    CHECK(refused(hold.acquire(b.control)).code == ErrorCode::kBusy);
  }
  CHECK(b.aside() == (b.wish.wait.once ? 0 : 2));
}

TEST_CASE("stock hold with locks: of those that look free two are tried before it queues, and all with -n") {
  StockBench b({5, 5, 5, 5, 5});
  for (int segment = 0; segment < 5; ++segment) b.segments.taken.insert("stock:phone:" + std::to_string(segment));
  SUBCASE("two, and its queue") {
    b.clock.next_happening = [&]() -> std::optional<TimePoint> {
      b.segments.taken.clear();
      return std::nullopt;
    };
    StockHold hold = b.hold(1, true);
    granted(hold.acquire(b.control));
    CHECK(b.segments.tried.size() == 4);  // and the one that it got, when it looked again
  }
  SUBCASE("all, and once more") {
    b.wish.wait.once = true;
    StockHold hold = b.hold(1, true);
    CHECK(refused(hold.acquire(b.control)).code == ErrorCode::kBusy);
    CHECK(b.segments.tried.size() == 6);
    for (const std::string& one : b.segments.taken) {
      CHECK(std::count(b.segments.tried.begin(), b.segments.tried.end(), one) >= 1);
    }
  }
}

TEST_CASE("stock hold with locks: what no segment has alone takes all locks, in order") {
  StockBench b({2, 2, 2});
  StockHold hold = b.hold(5, true);
  granted(hold.acquire(b.control));
  CHECK(b.segments.tried == std::vector<std::string>{"stock:phone:0", "stock:phone:1", "stock:phone:2"});
  CHECK(b.segments.ours.size() == 3);
  CHECK(hold.release(b.soon()));
  CHECK(b.segments.ours.empty());
  CHECK(b.there() == 6);
}

TEST_CASE("stock hold with locks: a lost lock is a lost hold") {
  StockBench b({2, 2});
  StockHold hold = b.hold(1, true);
  granted(hold.acquire(b.control));
  CHECK(std::holds_alternative<RenewalHeld>(hold.held(b.clock.now())));
  b.segments.lost = true;
  CHECK(std::holds_alternative<RenewalLost>(hold.held(b.clock.now())));
  CHECK(std::holds_alternative<RenewalLost>(hold.renew(b.control, b.soon())));
}

TEST_CASE("stock hold with locks of its own: a free segment is locked in one step, without a look at the others") {
  for (int i = 0; i < 20; ++i) {
    StockBench b({5, 1, 5});
    b.has_own_locks = true;
    b.segments.taken = {"stock:phone:0"};
    StockHold hold = b.hold(2, true);
    CHECK(granted(hold.acquire(b.control)).locks.front().parts == "2:2");
    CHECK(b.segments.ours == std::set<std::string>{"stock:phone:2"});
    CHECK(b.segments.tried.empty());
    CHECK(b.own->queued == 0);
    CHECK(hold.release(b.soon()));
    CHECK(b.segments.ours.empty());
  }
}

TEST_CASE("stock hold with locks of its own: when all are locked it queues at one; with -n it is busy") {
  for (const bool in_two_steps : {false, true}) {
    CAPTURE(in_two_steps);
    StockBench b({5, 1});
    b.has_own_locks = true;
    b.in_two_steps = in_two_steps;
    b.segments.taken = {"stock:phone:0"};
    SUBCASE("waits") {
      b.clock.next_happening = [&]() -> std::optional<TimePoint> {
        if (b.clock.since_start() > 3s) b.segments.taken.clear();
        return std::nullopt;
      };
      StockHold hold = b.hold(2, true);
      CHECK(granted(hold.acquire(b.control)).locks.front().parts == "0:2");
      CHECK(b.clock.since_start() > 3s);
      CHECK(b.own->queued >= 2);
      CHECK(b.segments.ours == std::set<std::string>{"stock:phone:0"});
      CHECK(hold.release(b.soon()));
      CHECK(b.segments.ours.empty());
    }
    SUBCASE("-n") {
      b.wish.wait.once = true;
      StockHold hold = b.hold(2, true);
      CHECK(refused(hold.acquire(b.control)).code == ErrorCode::kBusy);
      CHECK(b.own->queued == 0);
      CHECK(b.aside() == 0);
    }
  }
}

TEST_CASE("stock hold with locks of its own: what no segment has alone is gathered under all of them") {
  StockBench b({2, 1});
  b.has_own_locks = true;
  StockHold hold = b.hold(3, true);
  granted(hold.acquire(b.control));
  CHECK(b.segments.ours == std::set<std::string>{"stock:phone:0", "stock:phone:1"});
}

TEST_CASE("stock hold with locks of its own: one that is lost is lost, although the reservation is well") {
  StockBench b({5});
  b.has_own_locks = true;
  StockHold hold = b.hold(2, true);
  granted(hold.acquire(b.control));
  b.segments.lost = true;
  CHECK(std::holds_alternative<RenewalLost>(hold.held(b.clock.now())));
  CHECK(std::holds_alternative<RenewalLost>(hold.renew(b.control, b.soon())));
}

}  // namespace dlock::stock_hold_locks_test
