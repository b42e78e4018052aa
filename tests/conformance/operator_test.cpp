// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "tests/conformance/fixture.h"
#include "tests/conformance/skips.h"
#include "tests/support/acquisition.h"
#include "tests/support/helper_process.h"

namespace dlock::testing::operator_test {

TEST_CASE("a free lock has no holders and no waiters, even if it was never used") {
  on_every_backend("never-used", [](World& w) {
    const auto state = w.a.inspect(name(w.key));
    REQUIRE(state);
    CHECK(state->name.text() == w.key);
    CHECK(state->store == w.a.store());
    CHECK(state->holders.empty());
    CHECK(state->waiters.empty());
  });
}

TEST_CASE("inspect tells who holds the lock, where, what for and since when") {
  on_every_backend("who-holds", [](World& w) {
    LockSpec spec = exclusive(w.key);
    spec.reason = std::string(256, 'r');  // the longest that there is
    spec.command = "backup.sh";
    const WallTime before = SystemClock().wall();
    Acquisition holder(w.a, spec);
    const HeldLock held = holder.held();
    const auto state = w.b.inspect(name(w.key));
    REQUIRE(state);
    REQUIRE(state->holders.size() == 1);
    const Participant& participant = state->holders.front();
    char host[256] = {};
    gethostname(host, sizeof host - 1);
    CHECK(state->mode == Mode::kExclusive);
    CHECK(participant.owner == spec.owner.text());
    CHECK(participant.token == held.token);
    CHECK(participant.pid == getpid());
    CHECK(participant.host == host);
    CHECK_FALSE(participant.user.empty());
    CHECK(participant.reason == spec.reason);
    CHECK(participant.command == "backup.sh");
    CHECK(participant.count == 1);
    CHECK(participant.note == "");
    REQUIRE(participant.since);
    CHECK(*participant.since >= before);
    CHECK(*participant.since <= SystemClock().wall());
    holder.release();
  });
}

TEST_CASE("who is refused is told who holds the lock, and since when") {
  on_every_backend("busy-since", [](World& w) {
    const WallTime before = SystemClock().wall();
    const LockSpec spec = exclusive(w.key);
    Acquisition holder(w.a, spec);
    holder.held();
    Acquisition other(w.b, once(exclusive(w.key)));
    const auto refused = other.wait_for<Refused>();
    REQUIRE(refused);
    CHECK(refused->error.code == ErrorCode::kBusy);
    REQUIRE(refused->state);
    REQUIRE(refused->state->holders.size() == 1);
    const Participant& participant = refused->state->holders.front();
    CHECK(participant.owner == spec.owner.text());
    REQUIRE(participant.since);
    CHECK(*participant.since >= before);
    CHECK(*participant.since <= SystemClock().wall());
    holder.release();
  });
}

TEST_CASE("inspect of everything lists the locks in use, in canonical order, and no others") {
  on_every_backend("list", [](World& w) {
    Acquisition last(w.a, exclusive(w.key + "/z"));
    Acquisition first(w.a, exclusive(w.key + "/a"));
    Acquisition gone(w.a, exclusive(w.key + "/gone"));
    last.held();
    first.held();
    gone.held();
    gone.release();
    const auto states = w.b.inspect_all();
    REQUIRE(states);
    std::vector<std::string> names;
    for (const LockState& state : states->locks) {
      if (state.name.text().starts_with(w.key + "/")) names.push_back(state.name.text());
    }
    CHECK(names == std::vector<std::string>{w.key + "/a", w.key + "/z"});
    first.release();
    last.release();
  });
}

TEST_CASE("a force-release tells the holder, grants the lock to the next, and its token is higher") {
  on_every_backend("force", [](World& w) {
    Acquisition holder(w.a, renewed_soon(exclusive(w.key)));
    const HeldLock held = holder.held();
    Acquisition next(w.b, exclusive(w.key));
    CHECK(next.stays_quiet());
    CHECK(holder.stays_quiet(std::chrono::milliseconds(300)));  // settled: from now on it must be told
    const auto shown = w.b.inspect(name(w.key));
    REQUIRE(shown);
    const auto freed = w.b.force_release(name(w.key), *shown, "ops@ci-4: it hangs");
    REQUIRE(freed);
    REQUIRE(freed->freed.size() == 1);
    CHECK(freed->freed.front().owner == held.owner.text());
    const auto lost = holder.wait_for<Lost>();
    REQUIRE(lost);
    CHECK(lost->why == "force-released by ops@ci-4: it hangs");
    CHECK(w.fixture.grows(held.token, next.held().token));
    next.release();
  });
}

TEST_CASE("a holder that is stopped does not hold up the queue after a force-release") {
  on_every_backend("force-stopped", [](World& w) {
    HelperProcess stuck(w.fixture.store, renewed_soon(exclusive(w.key)));
    const FencingToken token = stuck.granted();
    stuck.signal(SIGSTOP);
    Acquisition next(w.a, exclusive(w.key));
    CHECK(next.stays_quiet());
    const auto shown = w.b.inspect(name(w.key));
    REQUIRE(shown);
    REQUIRE(w.b.force_release(name(w.key), *shown, ""));
    CHECK(w.fixture.grows(token, next.held().token));
    stuck.signal(SIGCONT);
    auto said = stuck.line();
    while (said && said->ends_with("renewed")) said = stuck.line();
    CHECK(said.value_or("nothing").starts_with("lost"));
    CHECK_FALSE(next.wait_for<Lost>(scaled(std::chrono::milliseconds(60))));  // a renewal may come meanwhile
    next.release();
  });
}

TEST_CASE("a force-release of holders who have changed meanwhile is a conflict and frees nobody") {
  on_every_backend("force-conflict", [](World& w) {
    Acquisition first(w.a, exclusive(w.key));
    first.held();
    const auto shown = w.b.inspect(name(w.key));
    REQUIRE(shown);
    first.release();
    Acquisition second(w.a, exclusive(w.key));
    second.held();
    const auto freed = w.b.force_release(name(w.key), *shown, "");
    REQUIRE_FALSE(freed);
    CHECK(freed.error().code == ErrorCode::kConflict);
    CHECK(second.stays_quiet());
    second.release();
    const auto again = w.b.force_release(name(w.key), *shown, "");
    REQUIRE_FALSE(again);
    CHECK(again.error().code == ErrorCode::kConflict);
  });
}

TEST_CASE("a force-release of a free lock frees nobody") {
  on_every_backend("force-free", [](World& w) {
    const auto shown = w.a.inspect(name(w.key));
    REQUIRE(shown);
    const auto freed = w.a.force_release(name(w.key), *shown, "");
    REQUIRE(freed);
    CHECK(freed->freed.empty());
  });
}

TEST_CASE("a force-release frees all permits or readers that were shown") {
  on_every_backend("force-all", [](World& w) {
    for (const LockSpec& spec : {renewed_soon(shared(w.key + "/s")), renewed_soon(permits(w.key + "/p", 2))}) {
      if (spec.mode == Mode::kShared && skips(w, !w.fixture.shared, "no readers")) continue;
      if (spec.mode == Mode::kPermits && skips(w, !w.fixture.permits, "no permits")) continue;
      LockSpec twin = spec;
      twin.owner = Owner::random();
      Acquisition one(w.a, spec);
      Acquisition two(w.b, twin);
      one.held();
      two.held();
      CHECK(one.stays_quiet(Duration::zero()));
      CHECK(two.stays_quiet(Duration::zero()));
      Acquisition writer(w.a, exclusive(spec.name.text()));
      CHECK(writer.stays_quiet());
      const auto shown = w.b.inspect(spec.name);
      REQUIRE(shown);
      const auto freed = w.b.force_release(spec.name, *shown, "");
      REQUIRE(freed);
      CHECK(freed->freed.size() == 2);
      CHECK(one.wait_for<Lost>());
      CHECK(two.wait_for<Lost>());
      writer.held();
      writer.release();
    }
  });
}

TEST_CASE("a token belongs to its holder until the release, and to nobody before or afterwards") {
  on_every_backend("check", [](World& w) {
    if (!w.fixture.tokens) {
      const auto none = w.b.check(name(w.key), FencingToken(1));
      REQUIRE_FALSE(none);
      CHECK(none.error().code == ErrorCode::kUnsupported);
    }
    if (skips(w, !w.fixture.tokens, "no tokens")) return;
    Acquisition holder(w.a, exclusive(w.key));
    const FencingToken token = holder.held().token;
    CHECK(w.b.check(name(w.key), token));
    const auto wrong = w.b.check(name(w.key), FencingToken(token.value() + 1));
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().code == ErrorCode::kLost);
    holder.release();
    const auto after = w.b.check(name(w.key), token);
    REQUIRE_FALSE(after);
    CHECK(after.error().code == ErrorCode::kLost);
    CHECK_FALSE(w.b.check(name(w.key + "/never-used"), token));
  });
}

TEST_CASE("a force-released token is not valid any more, even while its holder still runs") {
  on_every_backend("check-forced", [](World& w) {
    if (skips(w, !w.fixture.tokens, "no tokens")) return;
    Acquisition holder(w.a, exclusive(w.key));
    const FencingToken token = holder.held().token;
    const auto shown = w.b.inspect(name(w.key));
    REQUIRE(shown);
    REQUIRE(w.b.force_release(name(w.key), *shown, ""));
    CHECK_FALSE(w.b.check(name(w.key), token));
  });
}

TEST_CASE("garbage collection touches nothing that is held or waited for") {
  on_every_backend("gc", [](World& w) {
    Acquisition holder(w.a, exclusive(w.key));
    const HeldLock held = holder.held();
    Acquisition waiter(w.b, exclusive(w.key));
    CHECK(waiter.stays_quiet());
    const auto swept = w.b.collect_garbage(false);
    REQUIRE(swept);
    CHECK(std::none_of(swept->begin(), swept->end(), [&](const Swept& one) { return one.name.text() == w.key; }));
    if (w.fixture.tokens) CHECK(w.b.check(name(w.key), held.token));
    CHECK(holder.stays_quiet());
    holder.release();
    CHECK(w.fixture.grows(held.token, waiter.held().token));
    waiter.release();
  });
}

TEST_CASE("after garbage collection tokens go on growing") {
  on_every_backend("gc-token", [](World& w) {
    Acquisition before(w.a, exclusive(w.key));
    const FencingToken token = before.held().token;
    before.release();
    REQUIRE(w.b.collect_garbage(true));
    REQUIRE(w.b.collect_garbage(false));
    Acquisition after(w.a, exclusive(w.key));
    CHECK(w.fixture.grows(token, after.held().token));
    after.release();
  });
}

TEST_CASE("a healthy store has nothing to complain of, and answers a ping") {
  on_every_backend("doctor", [](World& w) {
    const auto findings = w.a.diagnose();
    REQUIRE_FALSE(findings.empty());
    for (const Finding& finding : findings) {
      INFO(finding.what);
      CHECK(finding.verdict == Finding::Verdict::kOk);
    }
    const auto took = w.a.ping();
    REQUIRE(took);
    CHECK(took->count() > 0);
    const auto states = w.a.inspect_all();
    REQUIRE(states);
    CHECK(std::none_of(states->locks.begin(), states->locks.end(),
                       [](const LockState& s) { return s.name.text() == "ping"; }));
  });
}

}  // namespace dlock::testing::operator_test
