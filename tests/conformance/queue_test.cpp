// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <memory>

#include "tests/conformance/fixture.h"
#include "tests/conformance/skips.h"
#include "tests/support/acquisition.h"
#include "tests/support/helper_process.h"

namespace dlock::testing::queue_test {
namespace {

// The first waiter waits for no longer than kPatience, and until then all of them have started.
#ifdef DLOCK_SANITIZED
constexpr std::size_t kLongQueue = 16;
#else
constexpr std::size_t kLongQueue = 32;
#endif

/// Waits until the store lists so many waiters of `key`.
bool waiters_seen(LockAdmin& backend, const std::string& key, std::size_t count) {
  std::string seen;
  const bool all = eventually([&] {
    const auto state = backend.inspect(name(key));
    seen = state ? std::to_string(state->waiters.size()) + " waiters" : state.error().message;
    return state && state->waiters.size() == count;
  });
  if (!all) MESSAGE("instead of " << count << " waiters, at last: " << seen);
  return all;
}

/// `waiter` is not granted the lock and stands in the queue as the last of `count`, where one can see that.
void stands_in_line(World& w, Acquisition& waiter, std::size_t count) {
  CHECK(waiter.stays_quiet());
  if (w.fixture.sees_waiters) REQUIRE(waiters_seen(w.a, w.key, count));
}

}  // namespace

TEST_CASE("waiters of other processes are served first come first served") {
  on_every_backend("fifo", [](World& w) {
    if (skips(w, !w.fixture.fair, "serves in no fixed order")) return;
    auto holder = std::make_unique<HelperProcess>(w.fixture.store, exclusive(w.key));
    FencingToken last = holder->granted();
    std::vector<std::unique_ptr<HelperProcess>> queue;
    for (std::size_t i = 0; i < 6; ++i) {
      queue.push_back(std::make_unique<HelperProcess>(w.fixture.store, exclusive(w.key)));
      REQUIRE(waiters_seen(w.a, w.key, i + 1));
    }
    holder->say("release");
    for (auto& next : queue) {
      const FencingToken token = next->granted();
      CHECK(w.fixture.grows(last, token));
      last = token;
      const auto state = w.a.inspect(name(w.key));
      REQUIRE(state);
      REQUIRE(state->holders.size() == 1);
      CHECK(state->holders.front().token == token);
      next->say("release");
    }
  });
}

TEST_CASE("a long queue is served in its order") {
  on_every_backend("many", [](World& w) {
    if (skips(w, !w.fixture.fair, "serves in no fixed order")) return;
    Acquisition holder(w.a, exclusive(w.key));
    holder.held();
    std::vector<std::unique_ptr<HelperProcess>> queue;
    for (std::size_t i = 0; i < kLongQueue; ++i) {
      queue.push_back(std::make_unique<HelperProcess>(w.fixture.store, exclusive(w.key)));
      REQUIRE(waiters_seen(w.b, w.key, i + 1));
    }
    // A place is taken a moment before its waiter has said who it is.
    CHECK(eventually([&] {
      const auto state = w.b.inspect(name(w.key));
      return state && std::equal(queue.begin(), queue.end(), state->waiters.begin(), state->waiters.end(),
                                 [](const auto& one, const Participant& seen) { return seen.pid == one->pid(); });
    }));
    holder.release();
    FencingToken last;
    for (auto& next : queue) {
      const FencingToken token = next->granted();
      CHECK(w.fixture.grows(last, token));
      last = token;
      next->say("release");
    }
  });
}

TEST_CASE("a newcomer does not pass a queue whose first is slow to take what has come free") {
  on_every_backend("newcomer", [](World& w) {
    if (skips(w, !w.fixture.fair, "serves in no fixed order")) return;
    Acquisition holder(w.a, exclusive(w.key));
    const FencingToken before = holder.held().token;
    Acquisition first(w.b, exclusive(w.key));
    stands_in_line(w, first, 1);
    const pid_t keeper = first.session().keeper_pid();  // 0: nobody takes it but by our own calls
    if (keeper > 0) REQUIRE(kill(keeper, SIGSTOP) == 0);
    holder.release();
    Acquisition hasty(w.a, once(exclusive(w.key)));
    CHECK(hasty.wait_for<Refused>());
    Acquisition late(w.a, exclusive(w.key));
    CHECK(late.stays_quiet());
    if (keeper > 0) REQUIRE(kill(keeper, SIGCONT) == 0);
    const FencingToken token = first.held().token;
    CHECK(w.fixture.grows(before, token));
    CHECK(late.stays_quiet());
    first.release();
    CHECK(w.fixture.grows(token, late.held().token));
    late.release();
  });
}

TEST_CASE("a waiter that is killed is skipped") {
  on_every_backend("killed-waiter", [](World& w) {
    if (skips(w, !w.fixture.sees_waiters, "does not list who waits")) return;
    Acquisition holder(w.a, exclusive(w.key));
    holder.held();
    HelperProcess doomed(w.fixture.store, exclusive(w.key));
    REQUIRE(waiters_seen(w.a, w.key, 1));
    HelperProcess next(w.fixture.store, exclusive(w.key));
    REQUIRE(waiters_seen(w.a, w.key, 2));
    doomed.kill();
    if (w.fixture.freed_at_once) CHECK(waiters_seen(w.a, w.key, 1));
    CHECK_FALSE(next.line(std::chrono::milliseconds(60)));
    holder.release();
    next.granted();
  });
}

TEST_CASE("a holder that is killed frees the lock, and the next token is higher") {
  on_every_backend("killed-holder", [](World& w) {
    HelperProcess holder(w.fixture.store, exclusive(w.key));
    const FencingToken before = holder.granted();
    Acquisition next(w.a, exclusive(w.key));
    CHECK(next.stays_quiet());
    holder.kill();
    CHECK(w.fixture.grows(before, next.held().token));
    next.release();
  });
}

TEST_CASE("a waiter that is stopped when its turn comes can be freed from the front like any holder") {
  on_every_backend("stopped-waiter", [](World& w) {
    if (skips(w, !w.fixture.freed_at_once, "freed when its ttl is over")) return;
    Acquisition holder(w.a, exclusive(w.key));
    holder.held();
    HelperProcess stopped(w.fixture.store, exclusive(w.key));
    REQUIRE(waiters_seen(w.a, w.key, 1));
    Acquisition next(w.b, exclusive(w.key));
    CHECK(next.stays_quiet());
    stopped.signal(SIGSTOP);
    holder.release();
    CHECK(next.stays_quiet());
    const auto shown = w.a.inspect(name(w.key));
    REQUIRE(shown);
    REQUIRE(shown->holders.size() == 1);
    CHECK(shown->holders.front().pid == stopped.pid());
    CHECK(shown->holders.front().note == "stopped");
    REQUIRE(w.a.force_release(name(w.key), *shown, ""));
    next.held();
    stopped.signal(SIGCONT);  // it was never told that it held anything: it goes to the end of the queue
    CHECK_FALSE(stopped.line(std::chrono::milliseconds(60)));
    next.release();
    stopped.granted();
  });
}

TEST_CASE("readers share, a writer waits for all of them, and later readers wait for the writer") {
  on_every_backend("shared", [](World& w) {
    if (skips(w, !w.fixture.shared, "no readers")) return;
    Acquisition reader(w.a, shared(w.key));
    reader.held();
    Acquisition another(w.b, shared(w.key));
    another.held();
    Acquisition writer(w.a, exclusive(w.key));
    stands_in_line(w, writer, 1);
    if (!w.fixture.readers_give_way) {
      Acquisition late(w.b, once(shared(w.key)));
      late.held();
      reader.release();
      another.release();
      CHECK(writer.stays_quiet());
      late.release();
      writer.held();
      writer.release();
    }
    if (skips(w, !w.fixture.readers_give_way, "readers pass by a writer that waits")) return;
    Acquisition late(w.b, shared(w.key));
    stands_in_line(w, late, 2);
    Acquisition impatient(w.b, once(shared(w.key)));
    CHECK(impatient.wait_for<Refused>());
    const auto state = w.a.inspect(name(w.key));
    REQUIRE(state);
    CHECK(state->mode == Mode::kShared);
    CHECK(state->holders.size() == 2);
    // One of them may be between two looks just then.
    if (w.fixture.sees_waiters) CHECK(waiters_seen(w.a, w.key, 2));
    reader.release();
    CHECK(writer.stays_quiet());
    another.release();
    writer.held();
    CHECK(late.stays_quiet());
    writer.release();
    late.held();
    Acquisition too(w.a, once(shared(w.key)));
    too.held();
    too.release();
    late.release();
  });
}

TEST_CASE("as many permits are given as there are, and each one that comes back goes to the next in line") {
  on_every_backend("permits", [](World& w) {
    if (skips(w, !w.fixture.permits, "no permits")) return;
    Acquisition one(w.a, permits(w.key, 2));
    Acquisition two(w.b, permits(w.key, 2));
    one.held();
    two.held();
    Acquisition three(w.a, permits(w.key, 2));
    stands_in_line(w, three, 1);
    Acquisition four(w.b, permits(w.key, 2));
    stands_in_line(w, four, 2);
    Acquisition impatient(w.b, once(permits(w.key, 2)));
    CHECK(impatient.wait_for<Refused>());
    const auto state = w.a.inspect(name(w.key));
    REQUIRE(state);
    CHECK(state->mode == Mode::kPermits);
    CHECK(state->permits == 2);
    CHECK(state->holders.size() == 2);
    two.release();
    three.held();
    CHECK(four.stays_quiet());
    one.release();
    four.held();
    three.release();
    four.release();
  });
}

TEST_CASE("who waits for a permit is woken by its release, and does not find out by looking") {
  on_every_backend("permit-wake", [](World& w) {
    if (skips(w, !w.fixture.permits, "no permits")) return;
    if (skips(w, !w.fixture.told_at_once, "is told by its next renewal")) return;
    Acquisition one(w.a, permits(w.key, 1));
    one.held();
    Acquisition two(w.b, permits(w.key, 1));
    CHECK(two.stays_quiet(std::chrono::milliseconds(400)));  // any polling has slowed down by now
    SystemClock clock;
    const TimePoint before = clock.now();
    one.release();
    two.held();
    CHECK(clock.now() - before < std::chrono::milliseconds(400));
    two.release();
  });
}

TEST_CASE("a permit whose holder is killed goes to the next in line") {
  on_every_backend("killed-permit", [](World& w) {
    if (skips(w, !w.fixture.permits, "no permits")) return;
    HelperProcess one(w.fixture.store, permits(w.key, 2));
    HelperProcess two(w.fixture.store, permits(w.key, 2));
    one.granted();
    two.granted();
    Acquisition three(w.a, permits(w.key, 2));
    stands_in_line(w, three, 1);
    one.kill();
    three.held();
    three.release();
  });
}

TEST_CASE("a writer waits for every permit, and permits wait for the writer") {
  on_every_backend("permits-writer", [](World& w) {
    if (skips(w, !w.fixture.permits, "no permits")) return;
    Acquisition one(w.a, permits(w.key, 3));
    one.held();
    Acquisition writer(w.b, exclusive(w.key));
    stands_in_line(w, writer, 1);
    Acquisition late(w.a, permits(w.key, 3));
    stands_in_line(w, late, 2);
    one.release();
    writer.held();
    CHECK(late.stays_quiet());
    writer.release();
    late.held();
    late.release();
  });
}

TEST_CASE("callers of one key who do not agree on the permits are told, as long as somebody uses them") {
  on_every_backend("disagree", [](World& w) {
    if (skips(w, !w.fixture.permits, "no permits")) return;
    Acquisition one(w.a, permits(w.key, 2));
    one.held();
    for (const LockSpec& other : {permits(w.key, 3), shared(w.key)}) {
      Acquisition refused(w.b, other);
      const auto answer = refused.wait_for<Refused>();
      REQUIRE(answer);
      CHECK(answer->error.code == ErrorCode::kConflict);
    }
    one.release();
    Acquisition later(w.b, permits(w.key, 3));
    later.held();
    later.release();
  });
}

TEST_CASE("whoever asks whom it waits for is told, and shown its own place among those who wait") {
  on_every_backend("who", [](World& w) {
    if (skips(w, !w.fixture.sees_waiters, "does not list who waits")) return;
    const LockSpec spec = exclusive(w.key);
    Acquisition holder(w.a, spec);
    holder.held();
    Acquisition waiter(w.b, exclusive(w.key));
    CHECK(waiter.stays_quiet());
    waiter.session().ask_who();
    const auto waiting = waiter.wait_for<Waiting>();
    REQUIRE(waiting);
    REQUIRE(waiting->state.holders.size() == 1);
    CHECK(waiting->state.holders.front().owner == spec.owner.text());
    REQUIRE(waiting->state.waiters.size() == 1);
    CHECK(waiting->state.waiters.front().pid == getpid());
    holder.release();
    waiter.held();
    waiter.release();
  });
}

}  // namespace dlock::testing::queue_test
