// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/admin_common.h"

#include <doctest/doctest.h>

#include <map>

#include "tests/support/fake_clock.h"

namespace dlock::admin_common_test {
namespace {

using namespace std::chrono_literals;

LockName named(std::string_view text) { return *LockName::parse(text); }

/// A layout that answers what the test has put in.
class Layout final : public AdminCommon {
 public:
  explicit Layout(testing::FakeClock& clock) : AdminCommon(clock), clock_(clock) {}

  std::map<LockName, Result<LockState>> states;
  std::vector<UnreadableLock> nameless;
  std::optional<Error> no_names;
  std::optional<Error> no_tokens;
  std::string done;  ///< what ping() has asked for
  int looks = 0;

  void hold(std::string_view key, std::uint64_t token, Standing standing = Standing::kRegular) {
    LockState state{.name = named(key), .store = store_, .holders = {}, .waiters = {}};
    Participant holder;
    holder.token = FencingToken(token);
    holder.standing = standing;
    state.holders.push_back(holder);
    states.insert_or_assign(named(key), state);
  }
  void fail(std::string_view key, ErrorCode code) {
    states.insert_or_assign(named(key), Error{code, "not " + std::string(key)});
  }

  const std::string& store() const override { return store_; }
  Result<LockState> inspect(const LockName& name) override {
    ++looks;
    const auto at = states.find(name);
    if (at != states.end()) return at->second;
    return LockState{.name = name, .store = store_, .holders = {}, .waiters = {}};
  }
  Result<ForceReleased> force_release(const LockName&, const LockState&, const std::string&) override {
    return ForceReleased{};
  }
  Result<HeldLock> renew(const LockName&, const Owner&, Duration) override { return Error{}; }
  Result<void> release(const LockName&, const Owner&) override { return Error{}; }
  Result<UniqueFd> fence(const LockName&, FencingToken, const WaitPolicy&) override { return UniqueFd(); }
  Result<std::vector<Swept>> collect_garbage(bool) override { return std::vector<Swept>(); }
  std::vector<Finding> diagnose() override { return {}; }

 private:
  Result<KnownLocks> known_locks() override {
    if (no_names) return *no_names;
    KnownLocks known{.names = {}, .unreadable = nameless};
    for (auto state = states.rbegin(); state != states.rend(); ++state) known.names.push_back(state->first);
    return known;
  }
  Result<void> check_has_tokens() const override { return no_tokens ? Result<void>(*no_tokens) : Result<void>(); }
  Result<Release> take_for_ping(const LockName& name) override {
    if (no_names) return *no_names;
    done += "take";
    clock_.advance(3ms);
    return Release([this, name] {
      done += states.contains(name) ? " give an other's" : " give";
      clock_.advance(4ms);
      return Result<void>();
    });
  }
  void forget_ping(const LockName&) override {
    done += " forget";
    clock_.advance(1s);
  }

  testing::FakeClock& clock_;
  const std::string store_ = "store";
};

struct World {
  testing::FakeClock clock;
  Layout layout{clock};
};

}  // namespace

TEST_CASE_FIXTURE(World, "all locks: those in use are in order; one that may not be read is named, and ends nothing") {
  layout.hold("c", 3);
  layout.hold("a", 1);
  layout.fail("b", ErrorCode::kDenied);
  layout.fail("d", ErrorCode::kMisconfigured);
  layout.states.emplace(named("free"), LockState{.name = named("free"), .store = {}, .holders = {}, .waiters = {}});
  layout.nameless = {{"0f.lock", {ErrorCode::kDenied, "no right"}}};
  const auto live = layout.inspect_all();
  REQUIRE(live);
  REQUIRE(live->locks.size() == 2);
  CHECK(live->locks[0].name == named("a"));
  CHECK(live->locks[1].name == named("c"));
  REQUIRE(live->unreadable.size() == 3);
  CHECK(live->unreadable[0].name == "0f.lock");
  CHECK(live->unreadable[1].name == "b");
  CHECK(live->unreadable[2].why.message == "not d");
}

TEST_CASE_FIXTURE(World, "without a memory slots of --once are locks, which are found by their key alone") {
  for (const char* key : {"a", "b"}) {
    const LockName slot = *LockName::of_slot(named(key), "s");
    LockState state{.name = slot, .store = {}, .holders = {Participant{}}, .waiters = {}};
    layout.states.emplace(slot, state);
  }
  layout.hold("a", 1);
  CHECK(layout.inspect_all()->locks.size() == 1);
  const auto slots = layout.remembered(named("a"));
  REQUIRE(slots);
  REQUIRE(slots->size() == 1);
  CHECK(slots->front().slot == "s");
  CHECK(layout.forget(*LockName::of_slot(named("a"), "s")));
  CHECK(layout.forget(*LockName::of_slot(named("a"), "t")).error().code == ErrorCode::kLost);
}

TEST_CASE_FIXTURE(World, "all locks: none of them may be read, and each is named") {
  layout.fail("a", ErrorCode::kDenied);
  const auto live = layout.inspect_all();
  REQUIRE(live);
  CHECK(live->locks.empty());
  CHECK(live->unreadable.size() == 1);
}

TEST_CASE_FIXTURE(World, "all locks: a store that is gone ends it, and is not asked for the others") {
  layout.fail("a", ErrorCode::kUnavailable);
  layout.hold("b", 1);
  const auto live = layout.inspect_all();
  REQUIRE_FALSE(live);
  CHECK(live.error().message == "not a");
  CHECK(layout.looks == 1);
  layout.no_names = Error{ErrorCode::kDenied, "closed"};
  CHECK(layout.inspect_all().error().message == "closed");
}

TEST_CASE_FIXTURE(World, "all locks: more than one set of them are all there") {
  for (int i = 0; i < 1000; ++i) layout.hold("k" + std::to_string(i), 1);
  CHECK(layout.inspect_all()->locks.size() == 1000);
}

TEST_CASE_FIXTURE(World, "check: the token of a holder is good, unless that holds it no more") {
  struct Row {
    Standing standing;
    bool good;
  };
  for (const Row& row : {Row{Standing::kRegular, true}, Row{Standing::kEndless, true}, Row{Standing::kMinority, false},
                         Row{Standing::kLeaseOver, false}, Row{Standing::kDelayAfterLease, false},
                         Row{Standing::kDelayAfterForce, false}}) {
    layout.hold("k", 7, row.standing);
    CHECK(static_cast<bool>(layout.check(named("k"), FencingToken(7))) == row.good);
  }
  layout.hold("k", 7);
  CHECK(layout.check(named("k"), FencingToken(6)).error().code == ErrorCode::kLost);
  CHECK(layout.check(named("free"), FencingToken(7)).error().code == ErrorCode::kLost);
  layout.no_tokens = Error{ErrorCode::kUnsupported, "no tokens here"};
  CHECK(layout.check(named("k"), FencingToken(7)).error().code == ErrorCode::kUnsupported);
}

TEST_CASE_FIXTURE(World, "ping: takes and gives back a lock of its own; forgetting it takes no time") {
  const auto took = layout.ping();
  REQUIRE(took);
  CHECK(*took == 7ms);
  CHECK(layout.done == "take give forget");
  layout.no_names = Error{ErrorCode::kUnavailable, "gone"};
  CHECK(layout.ping().error().message == "gone");
}

}  // namespace dlock::admin_common_test
