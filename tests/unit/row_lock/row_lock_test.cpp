// SPDX-License-Identifier: Apache-2.0
// What becomes of locks that are rows is judged by the history of their record and by what their holders believe:
// random histories of many clients over rows in memory, in which answers are lost and clients die.
#include "lib/row_lock/row_lock.h"

#include <doctest/doctest.h>

#include <map>
#include <set>

#include "lib/lock/lease.h"
#include "lib/lock/lock_errors.h"
#include "lib/lock/who_text.h"
#include "lib/row_lock/record_store.h"
#include "lib/row_lock/row_admin.h"
#include "tests/support/fake_clock.h"
#include "tests/support/memory_queue.h"
#include "tests/support/scripted_control.h"
#include "tests/unit/row_lock/crowd.h"

namespace dlock::testing::row_lock_test {
namespace {

using namespace std::chrono_literals;

const LockName kName = *LockName::parse("k");

struct MemoryAdmin final : RowAdmin {
  MemoryAdmin(RowShelf& shelf, const Runtime& runtime) : RowAdmin(std::make_unique<MemoryRows>(shelf), runtime) {}
  Result<UniqueFd> fence(const LockName&, FencingToken, const WaitPolicy&) override { return UniqueFd(); }
  std::vector<Finding> diagnose() override { return {}; }
};

struct World {
  FakeClock clock;
  Log log;
  RowShelf shelf{clock};
  ScriptedControl control{clock};
  MemoryAdmin admin{shelf, {clock, log, 1s}};

  LockSpec spec(Mode mode = Mode::kExclusive) {
    LockSpec one{.name = kName, .owner = Owner::random(), .mode = mode, .wait = {}, .reason = "", .ancestor = {}};
    if (mode == Mode::kPermits) one.permits = 2;
    one.wait.connect_timeout = 5s;
    return one;
  }
  std::unique_ptr<RowLock> lock(const LockSpec& one) {
    return std::make_unique<RowLock>(std::make_unique<MemoryRows>(shelf), one, Runtime{clock, log});
  }
  std::unique_ptr<RowLock> held(const LockSpec& one) {
    auto made = lock(one);
    REQUIRE(grant(*made));
    return made;
  }
  std::optional<Granted> grant(RowLock& one) {
    const auto answer = one.acquire(control);
    if (!answer || std::holds_alternative<Refused>(*answer)) return std::nullopt;
    return std::get<Granted>(*answer);
  }
  Renewal renew(RowLock& one) { return one.renew(control, clock.now() + 1s); }
  LockState state() {
    auto now = admin.inspect(kName);
    REQUIRE(now);
    return std::move(*now);
  }
  int calls_of(const std::function<void()>& what) {
    const int before = shelf.calls;
    what();
    return shelf.calls - before;
  }
};

}  // namespace

TEST_CASE("row lock: a free lock costs one call to take, one to renew, one to give back") {
  World w;
  for (int i = 0; i < 2; ++i) {
    auto lock = w.lock(w.spec());
    std::optional<Granted> grant;
    CHECK(w.calls_of([&] { grant = w.grant(*lock); }) == 1);
    REQUIRE(grant);
    CHECK(grant->locks[0].token.value() == w.shelf.last[kName]);
    CHECK(grant->deadline == lease_deadline(w.clock.now(), 30s));
    w.clock.advance(10s);
    CHECK(w.calls_of([&] { CHECK(std::holds_alternative<RenewalRenewed>(w.renew(*lock))); }) == 1);
    CHECK(w.state().holders[0].token == grant->locks[0].token);
    CHECK(w.calls_of([&] { CHECK(lock->release(w.clock.now() + 1s)); }) == 1);
    CHECK(w.state().holders.empty());
    CHECK(w.admin.inspect_all()->locks.empty());
  }
}

TEST_CASE("row lock: a renewal does not revive a lease that is over, though nobody has taken the lock") {
  World w;
  auto lock = w.held(w.spec());
  w.clock.advance(30s);
  CHECK(std::holds_alternative<RenewalLost>(w.renew(*lock)));
  CHECK(w.state().holders.empty());
  CHECK_FALSE(lock->release(w.clock.now() + 1s));
}

TEST_CASE("row lock: what was not answered is found by the owner's name, before and after it was done") {
  for (const auto fault : {RowShelf::Fault::kBefore, RowShelf::Fault::kAfter}) {
    for (const int at : {1, 2, 3}) {
      World w;
      w.shelf.fault = fault;
      auto lock = w.lock(w.spec());
      if (at == 1) w.shelf.fault_at = 1;
      const auto grant = w.grant(*lock);
      REQUIRE(grant);
      CHECK(grant->deadline <= lease_deadline(w.clock.now(), 30s));
      w.clock.advance(10s);
      if (at == 2) w.shelf.fault_at = w.shelf.calls + 1;
      CHECK(std::holds_alternative<RenewalRenewed>(w.renew(*lock)));
      CHECK(w.state().holders.size() == 1);
      if (at == 3) w.shelf.fault_at = w.shelf.calls + 1;
      CHECK(lock->release(w.clock.now() + 1s));
      CHECK(w.state().holders.empty());
    }
  }
}

TEST_CASE("row lock: a wait that is given up after a lost answer leaves nothing, whenever the take arrives") {
  World w;
  LockSpec spec = w.spec();
  spec.wait.once = true;
  w.shelf.fault_at = 1;
  int lost = 0;
  w.shelf.between = [&] { lost += w.shelf.calls == 0; };
  spec.wait.connect_timeout = 0s;
  auto lock = w.lock(spec);
  CHECK_FALSE(w.grant(*lock));
  MemoryRows late(w.shelf);
  const Rows::Commit take{{.kind = Rows::Change::Kind::kFill, .key = kLockRow, .text = "x 0\n"}};
  CHECK(*late.commit(kName, take, {w.clock.now()}) == 0);
  CHECK(w.state().holders.empty());
}

TEST_CASE("row lock: who gives up at once after it has got a place leaves none behind") {
  World w;
  auto holder = w.held(w.spec());
  w.control.stop_at = w.clock.now() + 50ms;
  auto next = w.lock(w.spec());
  CHECK_FALSE(w.grant(*next));
  CHECK(w.state().waiters.empty());
  CHECK(holder->release(w.clock.now() + 1s));
  CHECK(w.admin.inspect_all()->locks.empty());
}

TEST_CASE("row lock: readers behind a dead holder are told when the first of them enters") {
  World w;
  MemoryRows rows(w.shelf);
  RecordStore store(rows, kName, w.clock);
  const CallLimit limit{w.clock.now() + 1h};
  REQUIRE(store.take_free(ask_of(w.spec()), limit));
  std::vector<LeaseAsk> readers;
  for (int i = 0; i < 3; ++i) {
    readers.push_back(ask_of(w.spec(Mode::kShared)));
    const auto seen = store.read(limit);
    REQUIRE(store.write(*seen, {.record = with_waiter(seen->record, readers.back(), 60s, seen->now)}, limit));
  }
  CHECK(w.shelf.told.empty());
  w.clock.advance(31s);
  const auto seen = store.read(limit);
  const auto decision = try_take(seen->record, readers[0], seen->now);
  REQUIRE(std::holds_alternative<LeaseTake>(decision));
  REQUIRE(store.write(*seen, {.record = std::get<LeaseTake>(decision).next}, limit));
  CHECK(w.shelf.told.size() == 2);
}

TEST_CASE("row lock: what comes together with the answer to a renewal is heard") {
  World w;
  const LockSpec spec = w.spec();
  auto lock = w.held(spec);
  w.clock.advance(1s);
  CHECK(w.calls_of([&] { (void)lock->held(w.clock.now()); }) == 2);  // listens, and looks
  CHECK(w.calls_of([&] { (void)lock->held(w.clock.now()); }) == 0);
  w.shelf.changed = [&](const Rows::Row&, const Rows::Row&) { w.shelf.told.emplace(kName, spec.owner.text()); };
  CHECK(std::holds_alternative<RenewalRenewed>(w.renew(*lock)));
  CHECK(w.calls_of([&] { (void)lock->held(w.clock.now()); }) == 2);
}

TEST_CASE("row lock: the holder of a lock that is freed by force hears of it at once") {
  World w;
  auto lock = w.held(w.spec());
  w.clock.advance(1s);
  CHECK(std::holds_alternative<RenewalHeld>(lock->held(w.clock.now())));
  REQUIRE(w.admin.force_release(kName, w.state(), "ops: it hangs"));
  const Renewal heard = lock->held(w.clock.now());
  REQUIRE(std::holds_alternative<RenewalLost>(heard));
  auto next = w.held(w.spec());
  CHECK_FALSE(w.admin.force_release(kName, LockState{kName, "", Mode::kExclusive, 0, {}, {}}, "ops"));
}

TEST_CASE("row lock: what was told to a holder before it listened it hears when it does") {
  World w;
  auto lock = w.held(w.spec());
  SUBCASE("it was freed by force") {
    REQUIRE(w.admin.force_release(kName, w.state(), "ops: it hangs"));
    w.clock.advance(1s);
    CHECK(std::holds_alternative<RenewalLost>(lock->held(w.clock.now())));
  }
  SUBCASE("it was asked to end") {
    REQUIRE(w.admin.revoke(kName, w.state(), "deploy: 2.5"));
    w.clock.advance(1s);
    const Renewal heard = lock->held(w.clock.now());
    REQUIRE(std::holds_alternative<RenewalRenewed>(heard));
    CHECK(std::get<RenewalRenewed>(heard).revoked == "deploy: 2.5");
  }
  SUBCASE("it was not") {
    w.clock.advance(1s);
    CHECK(std::holds_alternative<RenewalHeld>(lock->held(w.clock.now())));
  }
}

TEST_CASE("row lock: a holder is asked to end, and obeys when it likes") {
  World w;
  auto lock = w.held(w.spec());
  w.clock.advance(1s);
  (void)lock->held(w.clock.now());
  REQUIRE(w.admin.revoke(kName, w.state(), "deploy: 2.5"));
  const Renewal heard = lock->held(w.clock.now());
  REQUIRE(std::holds_alternative<RenewalRenewed>(heard));
  CHECK(std::get<RenewalRenewed>(heard).revoked == "deploy: 2.5");
  CHECK(lock->release(w.clock.now() + 1s));
}

TEST_CASE("row lock: a lock-delay follows an unclean end alone") {
  World w;
  LockSpec spec = w.spec();
  spec.lock_delay = 10s;
  auto clean = w.held(spec);
  CHECK(clean->release(w.clock.now() + 1s));
  spec.owner = Owner::random();
  (void)w.held(spec);
  const TimePoint taken = w.clock.now();
  auto next = w.held(w.spec());
  CHECK(w.clock.now() - taken >= 40s);
  CHECK(w.clock.now() - taken < 41s);
}

TEST_CASE("row lock: what is left has its end, and its owner renews and releases it") {
  World w;
  LockSpec spec = w.spec();
  spec.left_to = 0;
  auto lock = w.held(spec);
  REQUIRE(lock->leave({60s, "status 0"}, w.clock.now() + 1s));
  lock.reset();
  CHECK(w.state().holders[0].ran == "status 0");
  REQUIRE(w.admin.renew(kName, spec.owner, 90s));
  w.clock.advance(89s);
  CHECK(w.state().holders.size() == 1);
  REQUIRE(w.admin.release(kName, spec.owner));
  CHECK(w.admin.release(kName, spec.owner).error().code == ErrorCode::kLost);
  CHECK(w.admin.renew(kName, spec.owner, 90s).error().code == ErrorCode::kLost);
}

TEST_CASE("row lock: a store that answers and refuses to write is out of order, and told so") {
  World w;
  w.shelf.refuses_writes = true;
  auto lock = w.lock(w.spec());
  const auto answer = lock->acquire(w.control);
  REQUIRE(answer);
  REQUIRE(std::holds_alternative<Refused>(*answer));
  CHECK(std::get<Refused>(*answer).error.code == ErrorCode::kUnavailable);
  CHECK(w.clock.since_start() < 10s);
}

TEST_CASE("row lock: gc removes what has ended, and what was not used for a day") {
  World w;
  (void)w.held(w.spec());
  CHECK(w.admin.collect_garbage(true)->empty());
  w.clock.advance(31s);
  CHECK(w.admin.collect_garbage(true)->size() == 1);
  CHECK(w.admin.collect_garbage(false)->size() == 1);
  CHECK(w.admin.collect_garbage(false)->empty());
  w.clock.advance(25h);
  CHECK(w.admin.collect_garbage(false)->size() == 1);
  CHECK(w.shelf.groups.empty());
  REQUIRE(w.admin.ping());
  CHECK(w.shelf.groups.empty());
}

TEST_CASE("row lock: the clock of the store goes back an hour under a dead holder") {
  World w;
  w.shelf.ahead = 1h;
  (void)w.held(w.spec());
  w.shelf.ahead = 0h;
  const TimePoint before = w.clock.now();
  const auto next = w.held(w.spec());
  CHECK(w.clock.now() - before <= 31s);
}

TEST_CASE(
    "row lock: where the store has a queue, its head is the holder of an exclusive lock, and leaves it with the lock") {
  World w;
  const auto queued = [&](Mode mode) {
    return std::make_unique<RowLock>(std::make_unique<QueuedRows>(w.shelf, w.clock), w.spec(mode),
                                     Runtime{w.clock, w.log});
  };
  auto writer = queued(Mode::kExclusive);
  REQUIRE(w.grant(*writer));
  CHECK(w.shelf.line.size() == 1);
  w.clock.advance(10s);
  CHECK(w.calls_of([&] { CHECK(std::holds_alternative<RenewalRenewed>(w.renew(*writer))); }) == 1);
  CHECK(w.calls_of([&] { CHECK(writer->release(w.clock.now() + 1s)); }) == 1);
  CHECK(w.shelf.line.empty());
  auto reader = queued(Mode::kShared);
  REQUIRE(w.grant(*reader));
  CHECK(w.shelf.line.empty());
  auto other = queued(Mode::kShared);
  REQUIRE(w.grant(*other));
  CHECK(w.state().holders.size() == 2);
}

TEST_CASE("row lock: who has waited in the store's queue takes the lock with its turn, and its lease begins there") {
  World w;
  const auto queued = [&](const LockSpec& spec) {
    return std::make_unique<RowLock>(std::make_unique<QueuedRows>(w.shelf, w.clock), spec, Runtime{w.clock, w.log});
  };
  auto holder = queued(w.spec());
  REQUIRE(w.grant(*holder));
  w.clock.next_happening = [&, at = w.clock.now() + 10s]() -> std::optional<TimePoint> {
    if (w.clock.now() >= at) holder.reset();  // its connection ends, and its lease goes on
    return holder ? std::optional(at) : std::nullopt;
  };
  auto next = queued(w.spec());
  const TimePoint before = w.clock.now();
  const auto grant = w.grant(*next);
  REQUIRE(grant);
  CHECK(w.clock.now() - before >= 30s);
  CHECK(grant->deadline > lease_deadline(before + 30s, 29s));
  CHECK(w.shelf.line.size() == 1);
}

TEST_CASE(
    "row lock: a holder that loses its place in the store's queue keeps the lock, and goes back if nobody has it") {
  World w;
  auto lock =
      std::make_unique<RowLock>(std::make_unique<QueuedRows>(w.shelf, w.clock), w.spec(), Runtime{w.clock, w.log});
  REQUIRE(w.grant(*lock));
  w.shelf.line.clear();
  CHECK(std::holds_alternative<RenewalRenewed>(w.renew(*lock)));
  CHECK(w.shelf.line.size() == 1);
  CHECK(lock->release(w.clock.now() + 1s));
  CHECK(w.shelf.line.empty());
}

TEST_CASE("row lock: in no history do two hold it, is the queue passed, or a lease revived") {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    Crowd crowd(seed, seed % 4 != 0, seed % 3 == 0);
    crowd.run(6);
    CHECK(crowd.granted > 0);
    for (const std::string& breach : crowd.breaches) FAIL_CHECK(breach);
  }
}

}  // namespace dlock::testing::row_lock_test
