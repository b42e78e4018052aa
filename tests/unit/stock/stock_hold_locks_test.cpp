// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "tests/unit/stock/stock_hold_world.h"

namespace dlock::stock_hold_locks_test {
namespace {

using namespace std::chrono_literals;
using testing::granted;
using testing::refused;
using testing::StockHoldWorld;

}  // namespace

TEST_CASE("stock hold with locks: after an answer that was lost the lock is that of the segment that was taken from") {
  for (int i = 0; i < 20; ++i) {
    StockHoldWorld w({5, 5, 5, 5});
    w.shelf.unanswered = 1;
    StockHold hold = w.hold(2, true);
    const Granted grant = granted(hold.acquire(w.control));
    const auto parts = parse_parts(grant.locks.front().parts);
    CHECK(w.segments.ours == std::set<std::string>{"stock:phone:" + std::to_string(parts->front().segment)});
    CHECK(w.aside() == 2);
    CHECK(hold.release(w.soon()));
    CHECK(w.there() == 20);
  }
}

TEST_CASE("stock hold with locks: an answer that was lost is not waited for as if it were somebody else's") {
  StockHoldWorld w({2});
  w.shelf.unanswered = 1;
  StockHold hold = w.hold(2, true);
  granted(hold.acquire(w.control));
  CHECK(w.clock.since_start() < 1s);
  CHECK(w.aside() == 2);
}

TEST_CASE("stock hold with locks: who gives up after an answer that was lost leaves nothing") {
  StockHoldWorld w({2, 1});
  w.shelf.unanswered = 1;
  w.wish.wait.connect_timeout = 1s;
  // What the lost request took is given back at last, though the segment is somebody else's by then.
  w.clock.next_happening = [&]() -> std::optional<TimePoint> {
    w.segments.taken = {"stock:phone:0"};
    return std::nullopt;
  };
  w.wish.wait.until = w.clock.now() + 3s;
  StockHold hold = w.hold(2, true);
  CHECK(refused(hold.acquire(w.control)).code == ErrorCode::kBusy);
  CHECK(w.aside() == 0);
}

TEST_CASE("stock hold with locks: a locked segment and a short one are left for the next") {
  for (int i = 0; i < 20; ++i) {
    StockHoldWorld w({5, 1, 5});
    w.segments.taken = {"stock:phone:0"};
    StockHold hold = w.hold(2, true);
    CHECK(granted(hold.acquire(w.control)).locks.front().parts == "2:2");
    CHECK(w.segments.ours == std::set<std::string>{"stock:phone:2"});
    CHECK(std::count(w.segments.tried.begin(), w.segments.tried.end(), "stock:phone:1") == 0);
  }
}

TEST_CASE("stock hold with locks: of those that look free two are tried before it queues, and all with -n") {
  StockHoldWorld w({5, 5, 5, 5, 5});
  for (int segment = 0; segment < 5; ++segment) w.segments.taken.insert("stock:phone:" + std::to_string(segment));
  SUBCASE("two, and its queue") {
    w.clock.next_happening = [&]() -> std::optional<TimePoint> {
      w.segments.taken.clear();
      return std::nullopt;
    };
    StockHold hold = w.hold(1, true);
    granted(hold.acquire(w.control));
    CHECK(w.segments.tried.size() == 4);  // and the one that it got, when it looked again
  }
  SUBCASE("all, and once more") {
    w.wish.wait.once = true;
    StockHold hold = w.hold(1, true);
    CHECK(refused(hold.acquire(w.control)).code == ErrorCode::kBusy);
    CHECK(w.segments.tried.size() == 6);
    for (const std::string& one : w.segments.taken) {
      CHECK(std::count(w.segments.tried.begin(), w.segments.tried.end(), one) >= 1);
    }
  }
}

TEST_CASE("stock hold with locks: what no segment has alone takes all locks, in order") {
  StockHoldWorld w({2, 2, 2});
  StockHold hold = w.hold(5, true);
  granted(hold.acquire(w.control));
  CHECK(w.segments.tried == std::vector<std::string>{"stock:phone:0", "stock:phone:1", "stock:phone:2"});
  CHECK(w.segments.ours.size() == 3);
  CHECK(hold.release(w.soon()));
  CHECK(w.segments.ours.empty());
  CHECK(w.there() == 6);
}

namespace {

/// Segment 1 is somebody else's for so long. A lock lasts for 2 s.
void lock_second(StockHoldWorld& w, Duration how_long) {
  w.wish.ttl = w.segments.lease.emplace(2s);
  w.segments.taken = {"stock:phone:1"};
  w.clock.next_happening = [&w, how_long]() -> std::optional<TimePoint> {
    if (w.clock.since_start() < how_long) return testing::FakeClock::start() + how_long;
    if (w.segments.taken.empty()) return std::nullopt;
    w.segments.taken.clear();
    return w.clock.now();
  };
}

}  // namespace

TEST_CASE("stock hold with locks: it is believed in for as long as its locks last") {
  StockHoldWorld w({5});
  w.segments.lease = 2s;
  StockHold hold = w.hold(2, true);
  const Granted grant = granted(hold.acquire(w.control));
  CHECK(grant.deadline == testing::FakeClock::start() + 2s);
  CHECK(grant.lease == 2s);
}

TEST_CASE("stock hold with locks: who waits for the next of several renews those that it has") {
  StockHoldWorld w({2, 2});
  lock_second(w, 4s);
  StockHold hold = w.hold(3, true);
  const Granted grant = granted(hold.acquire(w.control));
  CHECK(w.clock.since_start() == 4s);
  CHECK(w.segments.overdue.empty());
  REQUIRE(grant.deadline);
  CHECK(*grant.deadline - w.clock.now() >= 2s * 2 / 3);
  CHECK(w.segments.ours.size() == 2);
  CHECK(w.aside() == 3);
}

TEST_CASE("stock hold with locks: one of several that is lost meanwhile lets all go, and it begins anew") {
  StockHoldWorld w({2, 2});
  lock_second(w, 3s);
  w.segments.lost_from["stock:phone:0"] = w.clock.now() + 1s;
  w.wish.wait.until = w.clock.now() + 4s;
  StockHold hold = w.hold(3, true);
  CHECK(refused(hold.acquire(w.control)).message == "phone: other commands hold the locks of its segments");
  CHECK(w.segments.ours.empty());
  CHECK(w.aside() == 0);
}

TEST_CASE("stock hold with locks: nothing stays set aside under a lock that was lost before") {
  StockHoldWorld w({2, 2});
  w.segments.lost = true;
  w.wish.wait.until = w.clock.now() + 4s;
  StockHold hold = w.hold(2, true);
  CHECK(refused(hold.acquire(w.control)).code == ErrorCode::kBusy);
  CHECK(w.aside() == 0);
}

}  // namespace dlock::stock_hold_locks_test
