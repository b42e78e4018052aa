// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/lease/rules.h"

#include <doctest/doctest.h>

#include "lib/lock/who_text.h"

namespace dlock::mysql::lease_rules_test {
namespace {

using namespace std::chrono_literals;

constexpr ServerTime kNow = 1'700'000'000'000'000;
constexpr std::int64_t kSecond = 1'000'000;

LeaseHolder holder(const Owner& owner, std::uint64_t token, std::int64_t left, std::int64_t delay = 0) {
  return {.owner = owner.text(),
          .token = token,
          .since = kNow - kSecond,
          .until = kNow + left,
          .delay = delay,
          .connection = 3,
          .entries = {owner.text()},
          .who = "host"};
}

LeaseAsk ask(Mode mode = Mode::kExclusive, int permits = 0) {
  return {.owner = Owner::random(), .mode = mode, .permits = permits, .ttl = 30s, .who = "us"};
}

const LeaseTake* taken(const LeaseDecision& decision) { return std::get_if<LeaseTake>(&decision); }

struct Held {
  Owner a = Owner::random();
  Owner b = Owner::random();
  LeaseRow exclusive{4, 40, Mode::kExclusive, 0, {holder(a, 40, 10 * kSecond)}};
  LeaseRow shared{4, 41, Mode::kShared, 0, {holder(a, 40, 10 * kSecond), holder(b, 41, 20 * kSecond)}};
  LeaseRow permits{4, 41, Mode::kPermits, 2, {holder(a, 40, 10 * kSecond), holder(b, 41, 20 * kSecond)}};
};

TEST_CASE("a lock that nobody ever took is granted with the server's time as its token") {
  const LeaseAsk us = ask();
  const auto decision = try_take({}, us, kNow);
  REQUIRE(taken(decision));
  CHECK(taken(decision)->token == kNow);
  CHECK(taken(decision)->next.fence == kNow);
  REQUIRE(taken(decision)->next.holders.size() == 1);
  CHECK(taken(decision)->next.holders[0].until == kNow + 30 * kSecond);
  CHECK(taken(decision)->next.holders[0].entries == std::vector<std::string>{us.owner.text()});
}

TEST_CASE("a token is larger than the last one even when the server's clock went back") {
  const LeaseRow row{9, kNow + 5 * kSecond, Mode::kExclusive, 0, {}};
  const auto decision = try_take(row, ask(), kNow);
  REQUIRE(taken(decision));
  CHECK(taken(decision)->token == kNow + 5 * kSecond + 1);
}

TEST_CASE("somebody else's lock is busy until its lease and its lock-delay are over") {
  const Owner other = Owner::random();
  struct Case {
    std::int64_t left, delay;
    bool busy;
    std::int64_t remaining;
  };
  for (const Case& c :
       {Case{kSecond, 0, true, kSecond}, Case{1, 0, true, 1}, Case{0, 0, false, 0}, Case{-kSecond, 0, false, 0},
        Case{-kSecond, 2 * kSecond, true, kSecond}, Case{-2 * kSecond, 2 * kSecond, false, 0}}) {
    CAPTURE(c.left);
    CAPTURE(c.delay);
    const LeaseRow row{2, 40, Mode::kExclusive, 0, {holder(other, 40, c.left, c.delay)}};
    const auto decision = try_take(row, ask(), kNow);
    CHECK(std::holds_alternative<LeaseBusy>(decision) == c.busy);
    if (c.busy) CHECK(std::get<LeaseBusy>(decision).remaining == c.remaining);
    else CHECK(taken(decision)->next.holders.size() == 1);
  }
}

TEST_CASE("asking again with the same owner finds that it is ours, with the same token") {
  const Held held;
  LeaseAsk again = ask();
  again.owner = held.a;
  const auto decision = try_take(held.exclusive, again, kNow);
  REQUIRE(taken(decision));
  CHECK(taken(decision)->already);
  CHECK(taken(decision)->token == 40);
  CHECK(taken(decision)->next.fence == 40);
  CHECK(taken(decision)->next.holders[0].until == kNow + 30 * kSecond);
}

TEST_CASE("who meets whom") {
  const Held held;
  enum Verdict { kGranted, kBusy, kDisagree };
  struct Case {
    const LeaseRow& row;
    Mode mode;
    int permits;
    Verdict verdict;
  };
  const LeaseRow one_permit{4, 41, Mode::kPermits, 2, {held.permits.holders[0]}};
  for (const Case& c : {Case{held.exclusive, Mode::kExclusive, 0, kBusy}, Case{held.exclusive, Mode::kShared, 0, kBusy},
                        Case{held.exclusive, Mode::kPermits, 2, kBusy}, Case{held.shared, Mode::kShared, 0, kGranted},
                        Case{held.shared, Mode::kExclusive, 0, kBusy}, Case{held.shared, Mode::kPermits, 2, kDisagree},
                        Case{held.permits, Mode::kPermits, 2, kBusy}, Case{held.permits, Mode::kPermits, 3, kDisagree},
                        Case{one_permit, Mode::kPermits, 2, kGranted}, Case{held.permits, Mode::kShared, 0, kDisagree},
                        Case{held.permits, Mode::kExclusive, 0, kBusy}}) {
    CAPTURE(mode_name(c.row.mode));
    CAPTURE(mode_name(c.mode));
    CAPTURE(c.permits);
    const auto decision = try_take(c.row, ask(c.mode, c.permits), kNow);
    CHECK((taken(decision) != nullptr) == (c.verdict == kGranted));
    CHECK(std::holds_alternative<LeaseBusy>(decision) == (c.verdict == kBusy));
    CHECK(std::holds_alternative<LeaseDisagreement>(decision) == (c.verdict == kDisagree));
  }
}

TEST_CASE("a permit comes with the first slot that no other holder has") {
  const auto with = [](const char* slot) {
    LeaseHolder one = holder(Owner::random(), 40, 10 * kSecond);
    one.who = with_slot(who_text("why"), slot);
    return one;
  };
  struct Case {
    std::vector<LeaseHolder> holders;
    std::vector<std::string> names;
    const char* slot;
  };
  LeaseHolder over = with("0");
  over.until = kNow - 1;
  LeaseHolder delayed = over;
  delayed.delay = kSecond;
  for (const Case& c :
       {Case{{}, {}, "0"}, Case{{with("0")}, {}, "1"}, Case{{with("1"), with("2")}, {}, "0"},
        Case{{with("")}, {}, "0"},  // of an earlier dlock
        Case{{over, with("1")}, {}, "0"}, Case{{delayed, with("1")}, {}, "2"},
        Case{{with("b"), with("0")}, {"a", "b", "c"}, "a"}, Case{{with("a"), with("c")}, {"a", "b", "c"}, "b"}}) {
    CAPTURE(c.slot);
    const LeaseRow row{4, 41, Mode::kPermits, 3, c.holders};
    LeaseAsk us = ask(Mode::kPermits, 3);
    us.slots = c.names;
    us.who = who_text("why");
    const auto decision = try_take(row, us, kNow);
    REQUIRE(taken(decision));
    CHECK(taken(decision)->slot == c.slot);
    const LeaseRow& next = taken(decision)->next;
    CHECK(slot_of(find_holder(next, us.owner.text())->who) == c.slot);
    const auto again = try_take(next, us, kNow);  // an answer was lost
    CHECK(taken(again)->slot == c.slot);
    const auto renewed = extend(next, us.owner.text(), 30s, false, kNow);
    REQUIRE(renewed);
    CHECK(slot_of(find_holder(*renewed, us.owner.text())->who) == c.slot);
    CHECK(std::holds_alternative<LeaseDisagreement>(try_take(next, ask(Mode::kPermits, 2), kNow)));
    const auto state = state_of(next, *LockName::parse("k"), "", kNow);
    CHECK(state.holders.back().slot == c.slot);
  }
  const auto exclusive = try_take({}, ask(), kNow);
  REQUIRE(taken(exclusive));
  CHECK(taken(exclusive)->slot.empty());
}

TEST_CASE("a permit is free when the first holder ends, an exclusive lock when the last one does") {
  const Held held;
  CHECK(std::get<LeaseBusy>(try_take(held.permits, ask(Mode::kPermits, 2), kNow)).remaining == 10 * kSecond);
  CHECK(std::get<LeaseBusy>(try_take(held.permits, ask(), kNow)).remaining == 20 * kSecond);
}

TEST_CASE("a renewal makes a lease longer, never shorter unless it is told to, and never brings one back") {
  const Held held;
  const auto until = [&](Duration ttl, bool exact, ServerTime now) -> std::optional<ServerTime> {
    const auto next = extend(held.exclusive, held.a.text(), ttl, exact, now);
    return next ? std::optional(next->holders[0].until) : std::nullopt;
  };
  CHECK(until(30s, false, kNow) == kNow + 30 * kSecond);
  CHECK(until(1s, false, kNow) == kNow + 10 * kSecond);
  CHECK(until(1s, true, kNow) == kNow + kSecond);
  CHECK_FALSE(until(30s, false, kNow + 10 * kSecond).has_value());
  CHECK_FALSE(extend(held.exclusive, held.b.text(), 30s, false, kNow).has_value());
  CHECK_FALSE(extend({}, held.a.text(), 30s, false, kNow).has_value());
}

TEST_CASE("the last one who leaves frees the lock, and nobody frees another's") {
  Held held;
  const std::string inner = Owner::random().text();
  held.exclusive.holders[0].entries.push_back(inner);
  const std::string outer = held.a.text();

  const auto once = give_back(held.exclusive, held.a.text(), &outer, kNow);
  REQUIRE(once);
  CHECK(once->holders.size() == 1);
  const auto twice = give_back(*once, held.a.text(), &inner, kNow);
  REQUIRE(twice);
  CHECK(twice->holders.empty());
  CHECK(twice->fence == 40);

  CHECK_FALSE(give_back(*once, held.a.text(), &outer, kNow).has_value());
  CHECK_FALSE(give_back(held.exclusive, held.b.text(), nullptr, kNow).has_value());
  CHECK_FALSE(give_back(held.exclusive, held.a.text(), &outer, kNow + 11 * kSecond).has_value());
  CHECK(give_back(held.exclusive, held.a.text(), nullptr, kNow)->holders.empty());
  CHECK(give_back(held.shared, held.a.text(), nullptr, kNow)->holders.size() == 1);
}

TEST_CASE("force-release frees exactly the holders that were shown, and their lock-delay begins") {
  Held held;
  held.exclusive.holders[0].delay = 5 * kSecond;
  const LockName name = *LockName::parse("k");
  const LockState shown = state_of(held.exclusive, name, "store", kNow);

  const auto freed = force_free(held.exclusive, shown, kNow);
  REQUIRE(freed);
  CHECK(std::holds_alternative<LeaseBusy>(try_take(*freed, ask(), kNow + 4 * kSecond)));
  CHECK(taken(try_take(*freed, ask(), kNow + 5 * kSecond)));
  CHECK(state_of(*freed, name, "store", kNow).holders[0].standing == Standing::kDelayAfterForce);
  CHECK(force_free(*freed, state_of(*freed, name, "store", kNow), kNow).has_value());

  LeaseRow other = held.exclusive;
  other.holders[0].token = 99;
  CHECK_FALSE(force_free(other, shown, kNow).has_value());
  CHECK_FALSE(force_free(held.shared, shown, kNow).has_value());
  CHECK_FALSE(force_free({}, shown, kNow).has_value());
}

TEST_CASE("gc takes out who ended without a release, and nobody else") {
  const Held held;
  CHECK_FALSE(sweep(held.shared, kNow).has_value());
  const auto one = sweep(held.shared, kNow + 10 * kSecond);
  REQUIRE(one);
  REQUIRE(one->holders.size() == 1);
  CHECK(one->holders[0].owner == held.b.text());
  CHECK(one->fence == held.shared.fence);
}

TEST_CASE("a row is what was written, whatever a reason contains") {
  LeaseHolder odd = holder(Owner::random(), 40, kSecond, 7);
  odd.entries = {"a", "b"};
  odd.who =
      "host\x1f"
      "12\x1fuser\x1freason with 'quotes', spaces and \xc3\xa9";
  const std::vector<LeaseHolder> holders{odd, holder(Owner::random(), 41, kSecond)};
  const auto back = decode_holders(encode_holders(holders));
  REQUIRE(back);
  CHECK(*back == holders);

  odd.who = "two\nlines";
  const auto lines = decode_holders(encode_holders({odd}));
  REQUIRE(lines);
  CHECK(lines->size() == 1);
  CHECK(lines->front().who == "two lines");
}

TEST_CASE("what is no row of ours is not understood") {
  for (const char* text :
       {"x", "\n", "owner 1 2 3 4 5 e who", "owner 1 2 three 4 5 e who\n", "owner 1\n", "owner -1 2 3 4 5 e who\n"}) {
    CAPTURE(text);
    CHECK_FALSE(decode_holders(text).has_value());
  }
  CHECK(decode_holders("")->empty());
}

}  // namespace
}  // namespace dlock::mysql::lease_rules_test
