// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/conformance/fixture.h"
#include "tests/support/acquisition.h"
#include "tests/support/helper_process.h"

namespace dlock::testing::exclusion_test {

TEST_CASE("an exclusive lock excludes a second client, and is granted to it after the release") {
  on_every_backend("exclusive", [](World& w) {
    Acquisition first(w.a, exclusive(w.key));
    const HeldLock held = first.held();
    CHECK(held.name.text() == w.key);
    CHECK(held.store == w.a.store());
    CHECK_FALSE(held.reentered);
    Acquisition second(w.b, exclusive(w.key));
    CHECK(second.stays_quiet());
    first.release();
    CHECK(w.fixture.grows(held.token, second.held().token));
    second.release();
  });
}

TEST_CASE("the owner of a granted lock is the one that was asked for") {
  on_every_backend("owner", [](World& w) {
    const LockSpec spec = exclusive(w.key);
    Acquisition holder(w.a, spec);
    CHECK(holder.held().owner == spec.owner);
    holder.release();
  });
}

TEST_CASE("one attempt on a held lock is refused as busy, with its holder, and leaves nothing behind") {
  on_every_backend("once", [](World& w) {
    LockSpec spec = exclusive(w.key);
    spec.reason = "because";
    Acquisition holder(w.a, spec);
    holder.held();
    Acquisition attempt(w.b, once(exclusive(w.key)));
    const auto refused = attempt.wait_for<Refused>();
    REQUIRE(refused);
    CHECK(refused->error.code == ErrorCode::kBusy);
    REQUIRE(refused->state);
    REQUIRE(refused->state->holders.size() == 1);
    CHECK(refused->state->holders.front().owner == spec.owner.text());
    CHECK(refused->state->holders.front().reason == "because");
    const auto state = w.b.inspect(name(w.key));
    REQUIRE(state);
    CHECK(state->holders.size() == 1);
    CHECK(state->waiters.empty());
    holder.release();
  });
}

TEST_CASE("one attempt on a free lock is granted") {
  on_every_backend("once-free", [](World& w) {
    Acquisition attempt(w.a, once(exclusive(w.key)));
    attempt.held();
    attempt.release();
  });
}

TEST_CASE("a bounded wait is refused as busy when its time is over, and not before") {
  on_every_backend("bounded", [](World& w) {
    Acquisition holder(w.a, exclusive(w.key));
    holder.held();
    SystemClock clock;
    const TimePoint before = clock.now();
    Acquisition waiter(w.b, for_at_most(exclusive(w.key), std::chrono::milliseconds(80)));
    const auto refused = waiter.wait_for<Refused>();
    REQUIRE(refused);
    CHECK(refused->error.code == ErrorCode::kBusy);
    CHECK(clock.now() - before >= std::chrono::milliseconds(80));
    const auto state = w.a.inspect(name(w.key));
    REQUIRE(state);
    CHECK(state->waiters.empty());
    holder.release();
  });
}

TEST_CASE("counted tries are refused after the last one, and granted when the lock comes free in between") {
  on_every_backend("tries", [](World& w) {
    Acquisition holder(w.a, exclusive(w.key));
    holder.held();
    LockSpec spec = exclusive(w.key);
    spec.wait.tries = 3;
    spec.wait.retry_interval = std::chrono::milliseconds(10);
    Acquisition unlucky(w.b, spec);
    const auto refused = unlucky.wait_for<Refused>();
    REQUIRE(refused);
    CHECK(refused->error.code == ErrorCode::kBusy);
    spec.owner = Owner::random();
    spec.wait.tries = 1000;
    Acquisition lucky(w.b, spec);
    CHECK(lucky.stays_quiet(std::chrono::milliseconds(30)));
    holder.release();
    lucky.held();
    lucky.release();
  });
}

TEST_CASE("whoever withdraws leaves the queue to those behind") {
  on_every_backend("withdraw", [](World& w) {
    Acquisition holder(w.a, exclusive(w.key));
    holder.held();
    Acquisition quitter(w.b, exclusive(w.key));
    CHECK(quitter.stays_quiet());
    Acquisition patient(w.a, exclusive(w.key));
    CHECK(patient.stays_quiet());
    quitter.withdraw();
    CHECK(patient.stays_quiet());
    holder.release();
    patient.held();
    const auto state = w.b.inspect(name(w.key));
    REQUIRE(state);
    CHECK(state->waiters.empty());
    patient.release();
  });
}

TEST_CASE("a session that is destroyed lets go of its lock and of its place in the queue") {
  on_every_backend("destroyed", [](World& w) {
    auto holder = std::make_unique<Acquisition>(w.a, exclusive(w.key));
    holder->held();
    auto waiter = std::make_unique<Acquisition>(w.b, exclusive(w.key));
    CHECK(waiter->stays_quiet());
    Acquisition last(w.a, exclusive(w.key));
    CHECK(last.stays_quiet());
    waiter.reset();
    holder.reset();
    last.held();
    last.release();
  });
}

TEST_CASE("an acquisition that takes nothing waits until nobody holds the lock, and then holds nothing itself") {
  on_every_backend("wait", [](World& w) {
    LockSpec looking = exclusive(w.key);
    looking.take = false;
    Acquisition at_once(w.b, looking);
    const auto free = at_once.wait_for<Granted>();
    REQUIRE(free);
    CHECK(free->locks.empty());
    Acquisition holder(w.a, exclusive(w.key));
    holder.held();
    Acquisition attempt(w.b, once(looking));
    const auto refused = attempt.wait_for<Refused>();
    REQUIRE(refused);
    CHECK(refused->error.code == ErrorCode::kBusy);
    Acquisition waiting(w.b, looking);
    CHECK(waiting.stays_quiet());
    const auto state = w.b.inspect(name(w.key));
    REQUIRE(state);
    CHECK(state->waiters.empty());
    holder.release();
    const auto granted = waiting.wait_for<Granted>();
    REQUIRE(granted);
    CHECK(granted->locks.empty());
    Acquisition next(w.a, once(exclusive(w.key)));
    next.held();
    next.release();
  });
}

TEST_CASE("two keys do not exclude each other") {
  on_every_backend("two", [](World& w) {
    Acquisition one(w.a, exclusive(w.key + "/one"));
    Acquisition two(w.b, exclusive(w.key + "/two"));
    one.held();
    two.held();
    one.release();
    two.release();
  });
}

TEST_CASE("a key may have any length up to 255 bytes and any character that a name may have") {
  on_every_backend("names", [](World& w) {
    for (const std::string& key : {std::string(255, 'x'), std::string("\xc3\xa9 {}*?\"'\\%:"), std::string("-")}) {
      Acquisition holder(w.a, exclusive(key));
      holder.held();
      Acquisition other(w.b, once(exclusive(key)));
      CHECK(other.wait_for<Refused>());
      holder.release();
    }
  });
}

}  // namespace dlock::testing::exclusion_test
