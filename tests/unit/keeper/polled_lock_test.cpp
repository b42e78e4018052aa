// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/polled_lock.h"

#include <doctest/doctest.h>

#include <deque>
#include <functional>

#include "lib/lock/lease.h"
#include "tests/support/fake_clock.h"
#include "tests/support/scripted_control.h"

namespace dlock::polled_lock_test {
namespace {

using namespace std::chrono_literals;
using testing::FakeClock;
using testing::ScriptedControl;

const Error kNoAnswer{ErrorCode::kUnavailable, "no answer", ""};

/// Answers what it was told to, then that somebody holds the lock.
struct ScriptedStore final : PollableLock {
  explicit ScriptedStore(FakeClock& fake) : clock(fake) {}

  Attempt take(Control& /*control*/) override {
    tried_at.push_back(clock.now());
    if (answers.empty()) return others(std::nullopt);
    const auto answer = answers.front();
    answers.pop_front();
    return answer();
  }
  Renewal renew(Control* /*control*/, TimePoint /*until*/) override { return RenewalHeld{}; }
  Result<void> withdraw(TimePoint /*until*/) override {
    ++given_back;
    return {};
  }
  Result<void> release(TimePoint until) override {
    ++released;
    if (releases.empty()) return {};
    const Error error = releases.front();
    releases.pop_front();
    CHECK(clock.now() <= until);
    return error;
  }
  Result<void> leave(const LeaveSpec& /*spec*/, TimePoint /*until*/) override {
    ++left;
    return {};
  }
  Result<LockState> read_state(TimePoint /*until*/, Control* /*control*/) override {
    if (free) return LockState{name, "store", Mode::kExclusive, 0, {}, {}};
    return state();
  }

  LockState state() const {
    Participant holder;
    holder.owner = "somebody";
    return {name, "store", Mode::kExclusive, 0, {holder}, {}};
  }
  Attempt others(std::optional<Duration> remaining) const { return Others{state(), remaining}; }

  FakeClock& clock;
  const LockName name = *LockName::parse("k");
  std::deque<std::function<Attempt()>> answers;
  std::deque<Error> releases;
  std::vector<TimePoint> tried_at;
  bool free = false;
  int given_back = 0;
  int released = 0;
  int left = 0;
};

struct World {
  World() : control(clock) {
    auto scripted = std::make_unique<ScriptedStore>(clock);
    store = scripted.get();
    owned = std::move(scripted);
    spec.wait.connect_timeout = 5s;
  }

  PolledLock& lock() {
    if (!made) made.emplace(std::move(owned), spec, "store", Runtime{clock, log});
    return *made;
  }
  auto acquire() { return lock().acquire(control); }
  Error refusal() {
    const auto answer = acquire();
    REQUIRE(answer.has_value());
    REQUIRE(std::holds_alternative<Refused>(*answer));
    return std::get<Refused>(*answer).error;
  }
  void says(std::function<PollableLock::Attempt()> answer) { store->answers.push_back(std::move(answer)); }

  FakeClock clock;
  Log log;
  LockSpec spec{.name = *LockName::parse("k"), .owner = Owner::random(), .wait = {}, .reason = "", .ancestor = {}};
  ScriptedControl control;
  ScriptedStore* store = nullptr;
  std::unique_ptr<PollableLock> owned;
  std::optional<PolledLock> made;
};

TEST_CASE("the pause grows from 20 ms to 250 ms and is at least half of it") {
  CHECK(polling_pause(1, std::nullopt, 0) == 10ms);
  CHECK(polling_pause(1, std::nullopt, 1023) <= 20ms);
  CHECK(polling_pause(3, std::nullopt, 0) == 40ms);
  CHECK(polling_pause(100, std::nullopt, 0) == 125ms);
  CHECK(polling_pause(100, std::nullopt, 0xffffffff) <= 250ms);
}

TEST_CASE("a lease that ends sooner is not slept through") {
  CHECK(polling_pause(9, 5ms, 0) == 7ms);
  CHECK(polling_pause(9, 5ms, 7) == 14ms);
  CHECK(polling_pause(9, -5ms, 0) == 2ms);
  CHECK(polling_pause(9, 10s, 0) == 125ms);
}

TEST_CASE("a free lock is granted with the lease counted from before the request") {
  World world;
  const TimePoint sent = world.clock.now();
  world.says([&] {
    world.clock.advance(1s);
    return PollableLock::Taken{FencingToken(7), sent};
  });
  const auto answer = world.acquire();
  REQUIRE(answer.has_value());
  const auto& granted = std::get<Granted>(*answer);
  CHECK(granted.locks.at(0).token == FencingToken(7));
  CHECK(granted.deadline == lease_deadline(sent, world.spec.ttl));
}

TEST_CASE("an answer that comes after its lease is no grant, and is given back") {
  World world;
  world.spec.wait.once = true;
  const TimePoint sent = world.clock.now();
  world.says([&] {
    world.clock.advance(world.spec.ttl);
    return PollableLock::Taken{FencingToken(7), sent};
  });
  CHECK(world.refusal().code == ErrorCode::kUnavailable);
  CHECK(world.store->given_back > 0);
}

TEST_CASE("a withdrawn wait ends at once; what an unanswered attempt may have left is given back") {
  World world;
  SUBCASE("refused before: nothing can be left") {
    world.control.stop_at = world.clock.now() + 1ms;
    CHECK_FALSE(world.acquire().has_value());
    CHECK(world.store->given_back == 0);
  }
  SUBCASE("unknown before") {
    world.control.stop_at = world.clock.now() + 1ms;
    world.says([] { return kNoAnswer; });
    CHECK_FALSE(world.acquire().has_value());
    CHECK(world.store->given_back == 1);
  }
}

TEST_CASE("a lease that has just begun is left as it is, one that is older or shall be another begins again") {
  World world;
  world.spec.ttl = 30s;
  world.says([&] { return PollableLock::Taken{FencingToken(7), world.clock.now()}; });
  REQUIRE(world.acquire().has_value());
  CHECK(world.lock().leave({30s}, world.clock.now() + 1s));
  CHECK(world.store->left == 0);
  CHECK(world.lock().leave({60s}, world.clock.now() + 1s));
  CHECK(world.store->left == 1);
  world.clock.advance(1s);
  CHECK(world.lock().leave({30s}, world.clock.now() + 1s));
  CHECK(world.store->left == 2);
}

}  // namespace
}  // namespace dlock::polled_lock_test
