// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/segment_locks.h"

#include <doctest/doctest.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/unique_fd.h"
#include "tests/conformance/skips.h"
#include "tests/conformance/stock_fixture.h"

namespace dlock::testing::segment_locks_test {
namespace {

using namespace std::chrono_literals;

/// The segment that `client` gets the lock of, or that it is told to queue at (negative: minus one, minus that).
int lock_one(StockWorld& w, Stock& client, int start, std::vector<std::unique_ptr<LockDriver>>& locks) {
  auto choice = client.segment_locks()->lock_one(w.request("r", 2), start, 10s, w.limit());
  INFO((choice ? std::string() : choice.error().message));
  REQUIRE(choice);
  REQUIRE(*choice);
  if (!(*choice)->lock) return -1 - (*choice)->segment;
  locks.push_back(std::move((*choice)->lock));
  return (*choice)->segment;
}

/// Wants an end after a while.
class Later final : public Control {
 public:
  explicit Later(std::chrono::milliseconds wait) {
    const itimerspec once{{}, {wait / 1s, wait % 1s / 1ns}};
    timerfd_settime(alarm_.get(), 0, &once, nullptr);
  }
  void add_interest(std::vector<pollfd>& fds) const override { fds.push_back({alarm_.get(), POLLIN, 0}); }
  bool stop_requested() override {
    std::uint64_t times = 0;
    stop_ = stop_ || read(alarm_.get(), &times, sizeof times) > 0;
    return stop_;
  }
  bool take_who() override { return false; }
  void tell(const SessionEvent& /*event*/) override {}

 private:
  const UniqueFd alarm_{timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)};
  bool stop_ = false;
};

StockRequest in(StockWorld& w, const std::string& id, int segment) {
  StockRequest request = w.request(id, 2);
  request.only_segment = segment;
  return request;
}

}  // namespace

TEST_CASE("stock segment locks: the first free segment that has enough is locked, and no other") {
  on_every_stock("segment-locks", [](StockWorld& w) {
    if (skips(w, !w.a.segment_locks(), "no locks of segments")) return;
    w.create(12, 4);
    w.take_from(3, "drain", 2);
    std::vector<std::unique_ptr<LockDriver>> a;
    std::vector<std::unique_ptr<LockDriver>> b;
    CHECK(lock_one(w, w.a, 1, a) == 1);
    CHECK(lock_one(w, w.b, 1, b) == 2);
    CHECK(lock_one(w, w.b, 3, b) == 0);  // 3 has one left
    for (auto& lock : a) CHECK(lock->release(SystemClock().now() + 5s));
    for (auto& lock : b) CHECK(lock->release(SystemClock().now() + 5s));
    for (int segment = 0; segment < 3; ++segment) CHECK(lock_one(w, w.a, segment, a) == segment);
    CHECK(lock_one(w, w.b, 2, b) == -1 - 2);
  });
}

TEST_CASE(
    "stock segment locks: who waits for one has it when it is released, with its reservation, and the sale frees it") {
  on_every_stock("segment-queue", [](StockWorld& w) {
    if (skips(w, !w.a.segment_locks(), "no locks of segments")) return;
    w.create(4, 2);
    SegmentLocks& theirs = *w.b.segment_locks();
    SystemClock clock;
    const Owner owner = Owner::random();
    std::vector<std::unique_ptr<LockDriver>> a;
    std::vector<std::unique_ptr<LockDriver>> b;
    CHECK(lock_one(w, w.a, 0, a) == 0);
    CHECK(lock_one(w, w.b, 1, b) == 1);
    CHECK(b[0]->release(clock.now() + 5s));
    const auto busy = theirs.reserve_at_once(in(w, "x", 0), owner, 10s, 0, clock.now() + 20ms, w.limit());
    REQUIRE(busy);
    if (*busy) CHECK(std::holds_alternative<StockInProgress>(**busy));  // else: to be done in two steps
    CHECK(w.state().open == 0);
    CHECK(a[0]->release(clock.now() + 5s));
    const auto got = theirs.reserve_at_once(in(w, "x", 0), owner, 10s, 0, clock.now() + 5s, w.limit());
    REQUIRE(got);
    if (skips(w, !*got, "reserves in two steps")) return;
    REQUIRE(std::holds_alternative<StockTaken>(**got));
    CHECK(std::get<StockTaken>(**got).parts == StockParts{{0, 2}});
    CHECK(std::get<StockTaken>(**got).token > FencingToken());
    const auto lock = theirs.held();
    CHECK(std::holds_alternative<RenewalHeld>(lock->held(clock.now())));
    auto choice = w.a.segment_locks()->lock_one(w.request("y", 1), 0, 10s, w.limit());
    REQUIRE((choice && *choice));
    CHECK((*choice)->segment == 1);
    CHECK((*choice)->lock->release(clock.now() + 5s));
    CHECK(w.b.confirm(in(w, "x", 0), owner, w.limit()));
    CHECK(w.a.add(w.name, *LockName::parse("more"), 2, w.limit()));  // to segment 0
    CHECK(lock_one(w, w.a, 0, a) == 0);
  });
}

TEST_CASE("stock segment locks: who waits for one and is not wanted any more comes back soon") {
  on_every_stock("segment-stop", [](StockWorld& w) {
    if (skips(w, !w.a.segment_locks(), "no locks of segments")) return;
    w.create(4, 1);
    std::vector<std::unique_ptr<LockDriver>> a;
    std::vector<std::unique_ptr<LockDriver>> b;
    CHECK(lock_one(w, w.a, 0, a) == 0);
    CHECK(lock_one(w, w.b, 0, b) == -1);
    SystemClock clock;
    const Owner owner = Owner::random();
    const TimePoint began = clock.now();
    Later control(100ms);
    const auto answer =
        w.b.segment_locks()->reserve_at_once(in(w, "x", 0), owner, 10s, 0, began + 9s, {began + 10s, &control});
    CHECK(clock.now() - began < 5s);
    if (skips(w, answer && !*answer, "reserves in two steps")) return;
    CHECK_FALSE(answer);
    CHECK(w.b.cancel(in(w, "x", 0), owner, w.limit()));
    CHECK(w.state().open == 0);
  });
}

}  // namespace dlock::testing::segment_locks_test
