// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/stock_hold.h"

#include <doctest/doctest.h>

#include <set>

#include "lib/lock/lease.h"
#include "lib/stock/segment_locks.h"
#include "lib/stock/taking.h"
#include "tests/support/fake_clock.h"
#include "tests/support/memory_stock.h"

namespace dlock::stock_hold_test {
namespace {

using namespace std::chrono_literals;
using testing::FakeClock;
using testing::MemoryShelf;
using testing::MemoryStock;

struct ScriptedControl final : Control {
  explicit ScriptedControl(FakeClock& fake) : clock(fake) {}
  void add_interest(std::vector<pollfd>& /*fds*/) const override {}
  bool stop_requested() override { return stop_at && clock.now() >= *stop_at; }
  bool take_who() override { return false; }
  void tell(const SessionEvent& /*event*/) override {}

  FakeClock& clock;
  std::optional<TimePoint> stop_at;
};

/// Locks of segments: those in `taken` are somebody else's.
struct Segments {
  std::set<std::string> taken;
  std::set<std::string> ours;
  std::vector<std::string> tried;
  bool lost = false;
};

class SegmentLock final : public LockDriver {
 public:
  SegmentLock(Segments& segments, LockSpec spec) : segments_(segments), spec_(std::move(spec)) {}
  std::optional<std::variant<Granted, Refused>> acquire(Control& /*control*/) override {
    segments_.tried.push_back(spec_.name.text());
    if (segments_.taken.count(spec_.name.text())) return Refused{{ErrorCode::kBusy, "busy"}, std::nullopt};
    segments_.ours.insert(spec_.name.text());
    return Granted{{HeldLock{spec_.name, spec_.owner, FencingToken(1), "memory:"}}, std::nullopt};
  }
  Renewal renew(Control& /*control*/, TimePoint /*until*/) override { return held({}); }
  void add_interest(std::vector<pollfd>& /*fds*/) const override {}
  std::optional<TimePoint> wake_at() const override { return std::nullopt; }
  Renewal held(TimePoint /*now*/) override {
    return segments_.lost ? Renewal(RenewalLost{"taken away"}) : Renewal(RenewalHeld{});
  }
  Result<void> release(TimePoint /*until*/) override {
    segments_.ours.erase(spec_.name.text());
    return {};
  }
  Result<void> leave(Duration /*ttl*/, TimePoint until) override { return release(until); }

 private:
  Segments& segments_;
  const LockSpec spec_;
};

/// Those that the client of the stock holds itself. The shelf says what there is; `taken` are somebody else's.
class OwnLocks final : public SegmentLocks {
 public:
  OwnLocks(Segments& segments, MemoryShelf& shelf, MemoryStock& stock)
      : segments_(segments), shelf_(shelf), stock_(stock) {}

  Result<std::optional<Choice>> lock_one(const StockRequest& request, int start, Duration /*ttl*/,
                                         const CallLimit& /*limit*/) override {
    std::optional<Choice> choice;
    const int count = static_cast<int>(shelf_.have.size());
    for (int i = 0; i < count; ++i) {
      const int segment = (start + i) % count;
      if (shelf_.have[static_cast<std::size_t>(segment)] < request.quantity) continue;
      const bool free = !segments_.taken.count(name_of(segment));
      if (!choice || free) choice = Choice{segment, nullptr};
      if (!free) continue;
      choice->lock = held_at(segment);
      break;
    }
    return choice;
  }
  std::unique_ptr<LockDriver> open(int /*segment*/, const LockSpec& spec) override {
    return std::make_unique<SegmentLock>(segments_, spec);
  }
  Result<std::optional<StockAnswer>> reserve_at_once(const StockRequest& request, const Owner& owner, Duration ttl,
                                                     int segment, TimePoint until, const CallLimit& limit) override {
    ++queued;
    if (segments_.taken.count(name_of(segment))) shelf_.clock.wait(nothing_, until);
    if (segments_.taken.count(name_of(segment))) return std::optional<StockAnswer>(StockInProgress{});
    if (two_steps) return std::optional<StockAnswer>();
    at_once_ = segment;
    auto answer = stock_.reserve(request, owner, ttl, segment, limit);
    if (!answer) return answer.error();
    return std::optional(*answer);
  }
  std::unique_ptr<LockDriver> held() override { return held_at(at_once_); }

  int queued = 0;
  bool two_steps = false;

 private:
  static std::string name_of(int segment) { return "stock:phone:" + std::to_string(segment); }
  std::unique_ptr<LockDriver> held_at(int segment) {
    const LockSpec spec{
        .name = *LockName::parse(name_of(segment)), .owner = Owner::random(), .wait = {}, .reason = "", .ancestor = {}};
    segments_.ours.insert(spec.name.text());
    return std::make_unique<SegmentLock>(segments_, spec);
  }

  Segments& segments_;
  MemoryShelf& shelf_;
  MemoryStock& stock_;
  int at_once_ = 0;
  std::vector<pollfd> nothing_;
};

struct Bench {
  explicit Bench(std::vector<Quantity> have) : shelf(clock, std::move(have)) {}

  StockHold hold(Quantity quantity, bool lock_segment = false) {
    LockSpec spec = wish;
    spec.stock = StockClaim{*LockName::parse("order"), quantity, lock_segment};
    const auto open = [this](const LockSpec& segment) -> Result<std::unique_ptr<LockDriver>> {
      return std::unique_ptr<LockDriver>(std::make_unique<SegmentLock>(segments, segment));
    };
    auto stock = std::make_unique<MemoryStock>(shelf);
    if (has_own_locks) {
      own = std::make_unique<OwnLocks>(segments, shelf, *stock);
      own->two_steps = in_two_steps;
      stock->own_locks = own.get();
    }
    return StockHold(std::move(stock), spec, open, {clock, log});
  }

  Quantity there() const {
    Quantity sum = 0;
    for (const Quantity one : shelf.have) sum += one;
    return sum;
  }
  Quantity aside() const {
    Quantity sum = 0;
    for (const Quantity one : shelf.aside) sum += one;
    return sum;
  }
  TimePoint soon() const { return clock.now() + 5s; }

  FakeClock clock;
  Log log{Log::Style{.quiet = true}};
  MemoryShelf shelf;
  Segments segments;
  bool has_own_locks = false;
  bool in_two_steps = false;
  std::unique_ptr<OwnLocks> own;
  ScriptedControl control{clock};
  LockSpec wish{.name = *LockName::parse("phone"), .owner = Owner::random(), .wait = {}, .reason = "", .ancestor = {}};
};

Granted granted(const std::optional<std::variant<Granted, Refused>>& answer) {
  REQUIRE(answer);
  REQUIRE(std::holds_alternative<Granted>(*answer));
  return std::get<Granted>(*answer);
}

Error refused(const std::optional<std::variant<Granted, Refused>>& answer) {
  REQUIRE(answer);
  REQUIRE(std::holds_alternative<Refused>(*answer));
  return std::get<Refused>(*answer).error;
}

}  // namespace

TEST_CASE("stock hold: what is set aside is sold when the command ended with 0, and only then") {
  struct Row {
    std::optional<int> wait_status;
    Quantity sold;
  };
  for (const Row& row : {Row{0, 2}, Row{1 << 8, 0}, Row{9, 0}, Row{std::nullopt, 0}}) {
    Bench b({5, 5});
    StockHold hold = b.hold(2);
    const Granted grant = granted(hold.acquire(b.control));
    CHECK(parse_parts(grant.locks.front().parts)->size() == 1);
    CHECK(grant.deadline == lease_deadline(FakeClock::start(), b.wish.ttl));
    CHECK(b.aside() == 2);
    if (row.wait_status) hold.command_ended(*row.wait_status);
    CHECK(hold.release(b.soon()));
    CHECK(b.shelf.taken == row.sold);
    CHECK(b.there() == 10 - row.sold);
    CHECK(b.aside() == 0);
  }
}

TEST_CASE("stock hold: answers that are lost are asked for again, and nothing happens twice") {
  for (int lost = 1; lost < 5; ++lost) {
    Bench b({3, 3});
    b.shelf.unanswered = lost;
    StockHold hold = b.hold(2);
    granted(hold.acquire(b.control));
    CHECK(b.aside() == 2);
    b.shelf.unanswered = lost;
    hold.command_ended(0);
    CHECK(hold.release(b.soon()));
    CHECK(b.shelf.taken == 2);
    CHECK(b.there() == 4);
  }
}

TEST_CASE("stock hold: who could not be reached is unavailable after the connect timeout, and leaves nothing") {
  Bench b({3, 3});
  b.shelf.unanswered = 1;
  b.shelf.unreached = 0;
  b.wish.wait.connect_timeout = 2s;
  StockHold hold = b.hold(2);
  granted(hold.acquire(b.control));
  CHECK(hold.release(b.soon()));
  b.shelf.unreached = 1000000;
  const TimePoint before = b.clock.now();
  StockHold other = b.hold(2);
  CHECK(refused(other.acquire(b.control)).code == ErrorCode::kUnavailable);
  CHECK(b.clock.now() - before < 6s);
  CHECK(b.aside() == 0);
}

TEST_CASE("stock hold: short is said at once when nothing can come back") {
  Bench b({1, 1});
  StockHold hold = b.hold(3);
  CHECK(refused(hold.acquire(b.control)).code == ErrorCode::kShort);
  CHECK(b.clock.since_start() == 0s);
  CHECK(b.shelf.calls == 1);
}

TEST_CASE("stock hold: short is not said while others may give back") {
  Bench b({2});
  MemoryStock other(b.shelf);
  const StockRequest theirs{b.wish.name, *LockName::parse("theirs"), 2};
  const Owner owner = Owner::random();
  REQUIRE(other.reserve(theirs, owner, 10s, 0, {}));
  SUBCASE("they give back: it is ours") {
    b.clock.next_happening = [&]() -> std::optional<TimePoint> {
      if (b.clock.since_start() > 2s) REQUIRE(other.cancel(theirs, owner, {}));
      return std::nullopt;
    };
    StockHold hold = b.hold(2);
    granted(hold.acquire(b.control));
    CHECK(b.clock.since_start() > 2s);
    CHECK(b.clock.since_start() < 3s);
  }
  SUBCASE("they sell: it is short") {
    b.clock.next_happening = [&]() -> std::optional<TimePoint> {
      if (b.clock.since_start() > 2s) REQUIRE(other.confirm(theirs, owner, {}));
      return std::nullopt;
    };
    StockHold hold = b.hold(2);
    CHECK(refused(hold.acquire(b.control)).code == ErrorCode::kShort);
    CHECK(b.clock.since_start() > 2s);
  }
  SUBCASE("they die: it comes back when their time is over") {
    StockHold hold = b.hold(2);
    granted(hold.acquire(b.control));
    CHECK(b.clock.since_start() >= 10s);
  }
  SUBCASE("nobody waits: busy, not short") {
    b.wish.wait.once = true;
    StockHold hold = b.hold(2);
    CHECK(refused(hold.acquire(b.control)).code == ErrorCode::kBusy);
    CHECK(b.shelf.calls == 2);
  }
  SUBCASE("the wait ends first: busy") {
    b.wish.wait.until = b.clock.now() + 3s;
    StockHold hold = b.hold(2);
    CHECK(refused(hold.acquire(b.control)).code == ErrorCode::kBusy);
    CHECK(b.clock.since_start() >= 3s);
    CHECK(b.clock.since_start() < 4s);
  }
  SUBCASE("more is wanted than could come back: short at once") {
    StockHold hold = b.hold(3);
    CHECK(refused(hold.acquire(b.control)).code == ErrorCode::kShort);
    CHECK(b.clock.since_start() == 0s);
  }
  SUBCASE("the wait is given up: nothing is left") {
    b.control.stop_at = b.clock.now() + 1s;
    StockHold hold = b.hold(2);
    CHECK_FALSE(hold.acquire(b.control));
    CHECK(b.aside() == 2);
  }
}

TEST_CASE("stock hold: a request that was served before runs nothing") {
  Bench b({5});
  StockHold first = b.hold(2);
  granted(first.acquire(b.control));
  first.command_ended(0);
  REQUIRE(first.release(b.soon()));
  b.wish.owner = Owner::random();
  StockHold again = b.hold(2);
  CHECK(refused(again.acquire(b.control)).code == ErrorCode::kRepeated);
  CHECK(b.shelf.taken == 2);
}

TEST_CASE("stock hold: renewing makes the reservation longer; one that is over is lost") {
  Bench b({5});
  StockHold hold = b.hold(2);
  granted(hold.acquire(b.control));
  b.clock.advance(20s);
  const auto renewed = hold.renew(b.control, b.soon());
  REQUIRE(std::holds_alternative<RenewalRenewed>(renewed));
  CHECK(std::get<RenewalRenewed>(renewed).deadline == lease_deadline(b.clock.now(), 30s));
  b.shelf.unanswered = 1;
  CHECK(std::holds_alternative<RenewalUnknown>(hold.renew(b.control, b.soon())));
  b.clock.advance(31s);
  CHECK(std::holds_alternative<RenewalLost>(hold.renew(b.control, b.soon())));
  hold.command_ended(0);
  const auto sold = hold.release(b.soon());
  REQUIRE_FALSE(sold);
  CHECK(sold.error().code == ErrorCode::kLost);
  CHECK(b.shelf.taken == 0);
}

TEST_CASE("stock hold with locks: the segment that is taken from is locked meanwhile") {
  Bench b({5, 5, 5});
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
      Bench b({5, 5, 5, 5});
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
  Bench b({2});
  b.shelf.unanswered = 1;
  StockHold hold = b.hold(2, true);
  granted(hold.acquire(b.control));
  CHECK(b.clock.since_start() < 1s);
  CHECK(b.aside() == 2);
}

TEST_CASE("stock hold with locks: who gives up after an answer that was lost leaves nothing") {
  Bench b({2, 1});
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
    Bench b({5, 1, 5});
    b.segments.taken = {"stock:phone:0"};
    StockHold hold = b.hold(2, true);
    CHECK(granted(hold.acquire(b.control)).locks.front().parts == "2:2");
    CHECK(b.segments.ours == std::set<std::string>{"stock:phone:2"});
    CHECK(std::count(b.segments.tried.begin(), b.segments.tried.end(), "stock:phone:1") == 0);
  }
}

TEST_CASE("stock hold with locks: when all that have enough are locked it waits, or is busy with -n") {
  Bench b({5, 1});
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
  Bench b({5, 5, 5, 5, 5});
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
  Bench b({2, 2, 2});
  StockHold hold = b.hold(5, true);
  granted(hold.acquire(b.control));
  CHECK(b.segments.tried == std::vector<std::string>{"stock:phone:0", "stock:phone:1", "stock:phone:2"});
  CHECK(b.segments.ours.size() == 3);
  CHECK(hold.release(b.soon()));
  CHECK(b.segments.ours.empty());
  CHECK(b.there() == 6);
}

TEST_CASE("stock hold with locks: a lost lock is a lost hold") {
  Bench b({2, 2});
  StockHold hold = b.hold(1, true);
  granted(hold.acquire(b.control));
  CHECK(std::holds_alternative<RenewalHeld>(hold.held(b.clock.now())));
  b.segments.lost = true;
  CHECK(std::holds_alternative<RenewalLost>(hold.held(b.clock.now())));
  CHECK(std::holds_alternative<RenewalLost>(hold.renew(b.control, b.soon())));
}

TEST_CASE("insist: asks again while nothing is known, and no longer than it may") {
  FakeClock clock;
  int calls = 0;
  const auto silent = [&](const CallLimit&) -> Result<void> {
    ++calls;
    return Error{ErrorCode::kUnavailable, "no answer"};
  };
  CHECK_FALSE(insist(silent, clock.now() + 2s, clock, nullptr));
  CHECK(calls > 5);
  CHECK(clock.since_start() <= 2s);
  calls = 0;
  const auto refusing = [&](const CallLimit&) -> Result<void> {
    ++calls;
    return Error{ErrorCode::kConflict, "no"};
  };
  CHECK(insist(refusing, clock.now() + 2s, clock, nullptr).error().code == ErrorCode::kConflict);
  CHECK(calls == 1);
}

TEST_CASE("stock hold with locks of its own: a free segment is locked in one step, without a look at the others") {
  for (int i = 0; i < 20; ++i) {
    Bench b({5, 1, 5});
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
    Bench b({5, 1});
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
  Bench b({2, 1});
  b.has_own_locks = true;
  StockHold hold = b.hold(3, true);
  granted(hold.acquire(b.control));
  CHECK(b.segments.ours == std::set<std::string>{"stock:phone:0", "stock:phone:1"});
}

TEST_CASE("stock hold with locks of its own: one that is lost is lost, although the reservation is well") {
  Bench b({5});
  b.has_own_locks = true;
  StockHold hold = b.hold(2, true);
  granted(hold.acquire(b.control));
  b.segments.lost = true;
  CHECK(std::holds_alternative<RenewalLost>(hold.held(b.clock.now())));
  CHECK(std::holds_alternative<RenewalLost>(hold.renew(b.control, b.soon())));
}

}  // namespace dlock::stock_hold_test
