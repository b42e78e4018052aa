// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "tests/conformance/fixture.h"
#include "tests/conformance/skips.h"
#include "tests/support/acquisition.h"
#include "tests/support/helper_process.h"
#include "tests/support/stores.h"

namespace dlock::testing::lease_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

bool is_free(LockAdmin& backend, const std::string& key) {
  const auto state = backend.inspect(name(key));
  return state && state->holders.empty();
}

ErrorCode code_of(const Result<void>& result) { return result ? ErrorCode::kInternal : result.error().code; }

}  // namespace

TEST_CASE("a detached lease outlives the process that took it, and is given back by another one with its owner") {
  on_every_backend("lease", [](World& w) {
    if (skips(w, !w.fixture.detaches, "no lease outlives its process")) return;
    const LockSpec spec = exclusive(w.key);
    const FencingToken token = take_lease(w.fixture.store, spec, "detach-ttl 60000");
    const auto state = w.a.inspect(name(w.key));
    REQUIRE(state);
    REQUIRE(state->holders.size() == 1);
    CHECK(state->holders.front().owner == spec.owner.text());
    CHECK(state->holders.front().token == token);
    if (w.fixture.tells_end) CHECK(state->holders.front().until);
    if (w.fixture.tokens) CHECK(w.a.check(name(w.key), token));
    Acquisition next(w.b, exclusive(w.key));
    CHECK(next.stays_quiet());
    CHECK(w.a.release(name(w.key), spec.owner));
    CHECK(w.fixture.grows(token, next.held().token));
    CHECK(code_of(w.a.release(name(w.key), spec.owner)) == ErrorCode::kLost);
    next.release();
  });
}

TEST_CASE("a lease is told from the hold of a process, and has no pid of one that is gone") {
  on_every_backend("lease-of", [](World& w) {
    if (skips(w, !w.fixture.detaches, "no lease outlives its process")) return;
    LockSpec spec = exclusive(w.key);
    spec.left_to = 0;
    take_lease(w.fixture.store, spec, "detach-ttl 60000");
    const auto state = w.a.inspect(name(w.key));
    REQUIRE(state);
    REQUIRE(state->holders.size() == 1);
    CHECK(state->holders.front().lease);
    const auto pid = static_cast<pid_t>(state->holders.front().pid);
    CHECK(pid == 0);
    CHECK_FALSE(state->holders.front().user.empty());
    CHECK(w.a.release(name(w.key), spec.owner));
  });
}

TEST_CASE("leases of one key can be taken and given back again and again, and tokens grow") {
  on_every_backend("lease-again", [](World& w) {
    if (skips(w, !w.fixture.detaches, "no lease outlives its process")) return;
    FencingToken last;
    for (int round = 0; round < 3; ++round) {
      const LockSpec spec = exclusive(w.key);
      const FencingToken token = take_lease(w.fixture.store, spec, "detach-ttl 60000");
      CHECK(w.fixture.grows(last, token));
      last = token;
      REQUIRE(w.b.release(name(w.key), spec.owner));
      CHECK(is_free(w.a, w.key));
    }
  });
}

TEST_CASE("a detached lease ends by itself, and not before its time") {
  on_every_backend("lease-end", [](World& w) {
    if (skips(w, !w.fixture.detaches, "no lease outlives its process")) return;
    const LockSpec spec = exclusive(w.key);
    SystemClock clock;
    const TimePoint before = clock.now();
    take_lease(w.fixture.store, spec, "detach-ttl 1000");
    Acquisition next(w.a, exclusive(w.key));
    next.held();
    CHECK(clock.now() - before >= seconds(1));
    CHECK(clock.now() - before < scaled(seconds(5)));
    const auto late = w.b.renew(name(w.key), spec.owner, seconds(60));
    REQUIRE_FALSE(late);
    CHECK(late.error().code == ErrorCode::kLost);
    CAPTURE(late.error().message);
    CHECK(late.error().message.find("force") == std::string::npos);
    CHECK(code_of(w.b.release(name(w.key), spec.owner)) == ErrorCode::kLost);
    next.release();
  });
}

TEST_CASE("a renewal does not revive a lease that is over, though nobody has taken the lock since") {
  on_every_backend("renew-over", [](World& w) {
    if (skips(w, !w.fixture.detaches, "no lease outlives its process")) return;
    const auto is_over = [&] {
      const auto state = w.b.inspect(name(w.key));
      return state && std::none_of(state->holders.begin(), state->holders.end(),
                                   [](const Participant& one) { return is_hold(one.standing); });
    };
    for (const bool delayed : {false, true}) {  // the second time the lock-delay keeps what is over in its place
      LockSpec spec = exclusive(w.key);
      if (delayed && !w.fixture.lock_delay) continue;
      if (delayed) spec.lock_delay = scaled(seconds(2));
      const FencingToken token = take_lease(w.fixture.store, spec, "detach-ttl 1000");
      REQUIRE(eventually(is_over));
      const auto late = w.a.renew(name(w.key), spec.owner, seconds(60));
      REQUIRE_FALSE(late);
      CHECK(late.error().code == ErrorCode::kLost);
      CHECK(is_over());
      Acquisition next(w.b, exclusive(w.key));
      CHECK(w.fixture.grows(token, next.held().token));
      next.release();
    }
  });
}

TEST_CASE("a renewal moves the end of a lease, in both directions") {
  on_every_backend("renew", [](World& w) {
    if (skips(w, !w.fixture.detaches, "no lease outlives its process")) return;
    const LockSpec spec = exclusive(w.key);
    const milliseconds first = std::chrono::duration_cast<milliseconds>(scaled(seconds(1)));
    const FencingToken token = take_lease(w.fixture.store, spec, "detach-ttl " + std::to_string(first.count()));
    const auto renewed = w.a.renew(name(w.key), spec.owner, seconds(60));
    REQUIRE(renewed);
    CHECK(renewed->owner == spec.owner);
    CHECK(renewed->token == token);
    Acquisition next(w.b, exclusive(w.key));
    CHECK(next.stays_quiet(first + milliseconds(300)));
    REQUIRE(w.a.renew(name(w.key), spec.owner, scaled(milliseconds(200))));
    next.held();
    next.release();
  });
}

TEST_CASE("a renewal without the owner is lost, and never takes a lock") {
  on_every_backend("renew-lost", [](World& w) {
    if (skips(w, !w.fixture.detaches, "no lease outlives its process")) return;
    const auto nobody = w.a.renew(name(w.key), Owner::random(), seconds(60));
    REQUIRE_FALSE(nobody);
    CHECK(nobody.error().code == ErrorCode::kLost);
    CHECK(is_free(w.b, w.key));
    const LockSpec spec = exclusive(w.key);
    take_lease(w.fixture.store, spec, "detach-ttl 60000");
    const auto thief = w.a.renew(name(w.key), Owner::random(), seconds(60));
    REQUIRE_FALSE(thief);
    CHECK(thief.error().code == ErrorCode::kLost);
    CHECK(code_of(w.a.release(name(w.key), Owner::random())) == ErrorCode::kLost);
    CHECK_FALSE(is_free(w.b, w.key));
    REQUIRE(w.a.release(name(w.key), spec.owner));
    const auto late = w.a.renew(name(w.key), spec.owner, seconds(60));
    REQUIRE_FALSE(late);
    CHECK(late.error().code == ErrorCode::kLost);
    CHECK(is_free(w.b, w.key));
  });
}

TEST_CASE("a lease that watches a process ends with it") {
  on_every_backend("watch", [](World& w) {
    if (skips(w, !w.fixture.detaches, "no lease outlives its process")) return;
    if (skips(w, !w.fixture.watches, "no lease of a process")) return;
    const pid_t watched = fork();
    if (watched == 0) {
      for (;;) pause();
    }
    LockSpec spec = exclusive(w.key);
    spec.left_to = watched;
    take_lease(w.fixture.store, spec, "detach-pid " + std::to_string(watched));
    Acquisition next(w.a, exclusive(w.key));
    CHECK(next.stays_quiet());
    const auto state = w.b.inspect(name(w.key));
    REQUIRE(state);
    REQUIRE(state->holders.size() == 1);
    CHECK(state->holders.front().lease);
    CHECK(state->holders.front().pid == watched);
    CHECK(state->holders.front().note == "until process " + std::to_string(watched) + " ends");
    kill(watched, SIGKILL);
    next.held();
    waitpid(watched, nullptr, 0);
    next.release();
  });
}

TEST_CASE("a lease cannot watch a process that does not exist, and nothing stays held") {
  on_every_backend("watch-nobody", [](World& w) {
    if (skips(w, !w.fixture.detaches, "no lease outlives its process")) return;
    HelperProcess taker(w.fixture.store, exclusive(w.key));
    taker.granted();
    taker.say("detach-pid 2147483646");
    CHECK(taker.line().value_or("nothing").starts_with("not detached"));
    CHECK(eventually([&] { return is_free(w.a, w.key); }));
  });
}

TEST_CASE("a detached lease can be force-released, and its owner then has lost it") {
  on_every_backend("lease-forced", [](World& w) {
    if (skips(w, !w.fixture.detaches, "no lease outlives its process")) return;
    const LockSpec spec = exclusive(w.key);
    take_lease(w.fixture.store, spec, "detach-ttl 60000");
    const auto shown = w.a.inspect(name(w.key));
    REQUIRE(shown);
    REQUIRE(w.a.force_release(name(w.key), *shown, ""));
    Acquisition next(w.b, exclusive(w.key));
    next.held();
    CHECK(code_of(w.a.release(name(w.key), spec.owner)) == ErrorCode::kLost);
    CHECK(next.stays_quiet());
    next.release();
  });
}

TEST_CASE("a lock held by a running process is not a lease: it can neither be renewed nor given back from outside") {
  on_every_backend("not-a-lease", [](World& w) {
    if (skips(w, !w.fixture.detaches, "no lease outlives its process")) return;
    if (skips(w, !w.fixture.freed_at_once, "freed when its ttl is over")) return;
    const LockSpec spec = exclusive(w.key);
    Acquisition holder(w.a, spec);
    holder.held();
    CHECK(code_of(w.b.release(name(w.key), spec.owner)) == ErrorCode::kUnsupported);
    CHECK_FALSE(w.b.renew(name(w.key), spec.owner, seconds(60)));
    CHECK(holder.stays_quiet());
    holder.release();
  });
}

}  // namespace dlock::testing::lease_test
