// SPDX-License-Identifier: Apache-2.0
#include "lib/row_lock/rules.h"

#include <doctest/doctest.h>

#include "lib/lock/who_text.h"

namespace dlock::row_rules_test {
namespace {

using namespace std::chrono_literals;

constexpr StoreTime kNow = 1'700'000'000'000'000;
constexpr std::int64_t kSecond = 1'000'000;

LeaseHolder holder(const Owner& owner, std::uint64_t token, std::int64_t left, std::int64_t delay = 0) {
  return {.owner = owner.text(),
          .token = token,
          .since = kNow - kSecond,
          .until = kNow + left,
          .delay = delay,
          .who = "host"};
}

LeaseAsk ask(Mode mode = Mode::kExclusive, int permits = 0) {
  return {.owner = Owner::random(), .mode = mode, .permits = permits, .ttl = 30s, .who = "us"};
}

const LeaseTake* taken(const LeaseDecision& decision) { return std::get_if<LeaseTake>(&decision); }

struct Held {
  Owner a = Owner::random();
  Owner b = Owner::random();
  LockRecord exclusive{4, Mode::kExclusive, 0, {holder(a, 40, 10 * kSecond)}};
  LockRecord shared{4, Mode::kShared, 0, {holder(a, 40, 10 * kSecond), holder(b, 41, 20 * kSecond)}};
  LockRecord permits{4, Mode::kPermits, 2, {holder(a, 40, 10 * kSecond), holder(b, 41, 20 * kSecond)}};
};

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
    const LockRecord row{2, Mode::kExclusive, 0, {holder(other, 40, c.left, c.delay)}};
    const auto decision = try_take(row, ask(), kNow);
    CHECK(std::holds_alternative<LeaseBusy>(decision) == c.busy);
    if (c.busy) CHECK(std::get<LeaseBusy>(decision).remaining == c.remaining);
    else CHECK(taken(decision)->next.holders.size() == 1);
  }
}

TEST_CASE("who meets whom") {
  const Held held;
  enum Verdict { kGranted, kBusy, kDisagree };
  struct Case {
    const LockRecord& row;
    Mode mode;
    int permits;
    Verdict verdict;
  };
  const LockRecord one_permit{4, Mode::kPermits, 2, {held.permits.holders[0]}};
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
       {Case{{}, {}, "0"}, Case{{with("0")}, {}, "1"}, Case{{with("1"), with("2")}, {}, "0"}, Case{{with("")}, {}, "0"},
        Case{{over, with("1")}, {}, "0"}, Case{{delayed, with("1")}, {}, "2"},
        Case{{with("b"), with("0")}, {"a", "b", "c"}, "a"}, Case{{with("a"), with("c")}, {"a", "b", "c"}, "b"}}) {
    CAPTURE(c.slot);
    const LockRecord row{4, Mode::kPermits, 3, c.holders};
    LeaseAsk us = ask(Mode::kPermits, 3);
    us.slots = c.names;
    us.who = who_text("why");
    const auto decision = try_take(row, us, kNow);
    REQUIRE(taken(decision));
    const LockRecord& next = taken(decision)->next;
    CHECK(slot_of(find_holder(next, us.owner.text())->who) == c.slot);
    const auto again = try_take(next, us, kNow);  // an answer was lost
    CHECK(slot_of(find_holder(taken(again)->next, us.owner.text())->who) == c.slot);
    const auto renewed = extend(next, us.owner.text(), 30s, false, kNow);
    REQUIRE(renewed);
    CHECK(slot_of(find_holder(*renewed, us.owner.text())->who) == c.slot);
    CHECK(std::holds_alternative<LeaseDisagreement>(try_take(next, ask(Mode::kPermits, 2), kNow)));
    const auto state = state_of(next, *LockName::parse("k"), "", kNow);
    CHECK(state.holders.front().slot == c.slot);
  }
  const auto exclusive = try_take({}, ask(), kNow);
  REQUIRE(taken(exclusive));
  CHECK(slot_of(taken(exclusive)->next.holders[0].who).empty());
}

TEST_CASE("a permit is free when the first holder ends, an exclusive lock when the last one does") {
  const Held held;
  CHECK(std::get<LeaseBusy>(try_take(held.permits, ask(Mode::kPermits, 2), kNow)).remaining == 10 * kSecond);
  CHECK(std::get<LeaseBusy>(try_take(held.permits, ask(), kNow)).remaining == 20 * kSecond);
}

TEST_CASE("a renewal makes a lease longer, never shorter unless it is told to, and never brings one back") {
  const Held held;
  const auto until = [&](Duration ttl, bool exact, StoreTime now) -> std::optional<StoreTime> {
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

TEST_CASE("force-release frees exactly the holders that were shown, and their lock-delay begins") {
  Held held;
  held.exclusive.holders[0].delay = 5 * kSecond;
  const LockName name = *LockName::parse("k");
  const LockState shown = state_of(held.exclusive, name, "store", kNow);

  const auto freed = force_free(held.exclusive, shown, kNow);
  REQUIRE(freed);
  CHECK(std::holds_alternative<LeaseBusy>(try_take(*freed, ask(), kNow + 4 * kSecond)));
  CHECK(taken(try_take(*freed, ask(), kNow + 5 * kSecond)));
  const Participant delayed = state_of(*freed, name, "store", kNow).holders[0];
  CHECK(delayed.standing == Standing::kDelayAfterForce);
  CHECK(*delayed.until == *shown.holders[0].until - 5s);  // 5 s from now, where the lease had ten
  CHECK(force_free(*freed, state_of(*freed, name, "store", kNow), kNow).has_value());

  const StoreTime over = kNow + 12 * kSecond;  // what was shown as a hold has its lock-delay before it
  const auto late = force_free(held.exclusive, shown, over);
  REQUIRE(late);
  CHECK(std::holds_alternative<LeaseBusy>(try_take(*late, ask(), over + 4 * kSecond)));
  const auto ended = force_free(held.exclusive, state_of(held.exclusive, name, "store", over), over);
  REQUIRE(ended);
  CHECK(taken(try_take(*ended, ask(), over)));

  LockRecord other = held.exclusive;
  other.holders[0].token = 99;
  CHECK_FALSE(force_free(other, shown, kNow).has_value());
  CHECK_FALSE(force_free(held.shared, shown, kNow).has_value());
  CHECK_FALSE(force_free({}, shown, kNow).has_value());
}

TEST_CASE("after a force-release each place stays taken until its lock-delay is over") {
  Held held;
  LockRecord& record = held.permits;
  record.holders[0].delay = 5 * kSecond;
  record.holders[1].delay = 8 * kSecond;
  for (LeaseHolder& one : record.holders) one.who = with_slot(who_text("why"), one.token == 40 ? "0" : "1");
  const auto freed = force_free(record, state_of(record, *LockName::parse("k"), "store", kNow), kNow);
  REQUIRE(freed);
  LeaseAsk us = ask(Mode::kPermits, 2);
  us.who = who_text("why");
  const StoreTime before = kNow + 4 * kSecond, after = kNow + 5 * kSecond;
  CHECK(std::get<LeaseBusy>(try_take(*freed, us, before)).remaining == kSecond);
  CHECK(next_owners(with_waiter(*freed, us, 60s, before), before).empty());
  const auto decision = try_take(*freed, us, after);
  REQUIRE(taken(decision));
  CHECK(slot_of(find_holder(taken(decision)->next, us.owner.text())->who) == "0");
  CHECK(std::holds_alternative<LeaseBusy>(try_take(taken(decision)->next, ask(Mode::kPermits, 2), after)));
}

TEST_CASE("gc takes out who ended without a release, and nobody else") {
  const Held held;
  CHECK_FALSE(sweep(held.shared, kNow).has_value());
  const auto one = sweep(held.shared, kNow + 10 * kSecond);
  REQUIRE(one);
  REQUIRE(one->holders.size() == 1);
  CHECK(one->holders[0].owner == held.b.text());
}

TEST_CASE("a free lock is taken by the commit that fills it: its number is the token, its time the beginning") {
  const LeaseAsk us = ask();
  const std::string text = encode_record(first_record(us));
  const auto written = decode_record({text, 77, kNow}, kNow + 1);
  REQUIRE(written);
  REQUIRE(written->holders.size() == 1);
  const LeaseHolder& ours = written->holders[0];
  CHECK(ours.token == 77);
  CHECK(ours.since == kNow);
  CHECK(ours.until == kNow + 30 * kSecond);
  CHECK(std::holds_alternative<LeaseBusy>(try_take(*written, ask(), ours.until - 1)));
  CHECK(taken(try_take(*written, ask(), ours.until)));
  CHECK(encode_record({}).empty());
  CHECK(decode_record({"", 77, kNow}, kNow) == LockRecord{.version = 77});
}

TEST_CASE("a store whose clock goes back does not make leases longer than they are") {
  const std::string text = encode_record(first_record(ask()));
  const auto read = decode_record({text, 77, kNow + 3600 * kSecond}, kNow);
  REQUIRE(read);
  CHECK(read->ahead);
  CHECK(read->holders[0].until == kNow + 30 * kSecond);
  LockRecord settled = with_waiter(*read, ask(), 6s, kNow);
  const auto again = decode_record({encode_record(settled), 78, kNow + 3600 * kSecond + 1}, kNow + 60 * kSecond);
  CHECK(is_free(*again, kNow + 60 * kSecond));
}

TEST_CASE("asking again with the same owner finds that it is ours, with the same token, until it is over") {
  const Held held;
  LeaseAsk again = ask();
  again.owner = held.a;
  const auto decision = try_take(held.exclusive, again, kNow);
  REQUIRE(taken(decision));
  CHECK(taken(decision)->before == kNow + 10 * kSecond);
  CHECK(taken(decision)->next.holders[0].token == 40);
  CHECK(taken(decision)->next.holders[0].until == kNow + 30 * kSecond);
  LockRecord delayed = held.exclusive;
  delayed.holders[0].delay = 60 * kSecond;
  CHECK(std::holds_alternative<LeaseBusy>(try_take(delayed, again, kNow + 10 * kSecond)));
}

TEST_CASE("who comes later comes after those who wait and live") {
  const LeaseAsk first = ask(), second = ask(Mode::kShared), third = ask(Mode::kShared), late = ask(Mode::kPermits, 3);
  const LeaseAsk writer = ask();
  LockRecord record = with_waiter({}, first, 6s, kNow);
  CHECK(taken(try_take(record, first, kNow)));
  CHECK(std::get<LeaseBusy>(try_take(record, late, kNow)).place == 1);
  CHECK(std::get<LeaseBusy>(try_take(record, late, kNow)).remaining == 6 * kSecond);
  CHECK(taken(try_take(record, late, kNow + 6 * kSecond)));
  record = with_waiter(with_waiter(with_waiter({}, second, 6s, kNow), third, 6s, kNow), writer, 6s, kNow);
  CHECK(taken(try_take(record, second, kNow)));
  CHECK(taken(try_take(record, third, kNow)));
  CHECK(std::get<LeaseBusy>(try_take(record, writer, kNow)).place == 2);
  CHECK(std::get<LeaseBusy>(try_take(record, ask(Mode::kShared), kNow)).place == 3);
  const LockRecord beaten = with_waiter(record, second, 9s, kNow + kSecond);
  CHECK(beaten.waiters[0].owner == second.owner.text());
  CHECK(beaten.waiters[0].until == kNow + 10 * kSecond);
  CHECK(beaten.waiters.size() == 3);
}

TEST_CASE("who may go is told, and nobody else") {
  const auto asks = [](std::initializer_list<Mode> modes) {
    std::vector<LeaseAsk> all;
    for (const Mode mode : modes) all.push_back(ask(mode, mode == Mode::kPermits ? 2 : 0));
    return all;
  };
  struct Case {
    LockRecord held;
    std::vector<LeaseAsk> waiters;
    std::size_t told;
  };
  using enum Mode;
  const Held held;
  const LockRecord one_permit{4, kPermits, 2, {held.permits.holders[0]}, {}};
  for (const Case& c :
       {Case{{}, asks({kExclusive, kExclusive}), 1}, Case{{}, asks({kShared, kShared, kExclusive, kShared}), 2},
        Case{held.exclusive, asks({kExclusive, kShared}), 0}, Case{held.shared, asks({kShared, kExclusive}), 1},
        Case{held.permits, asks({kPermits}), 0}, Case{one_permit, asks({kPermits, kPermits}), 1},
        Case{{}, asks({kPermits, kPermits}), 1}}) {
    LockRecord record = c.held;
    for (const LeaseAsk& one : c.waiters) record = with_waiter(record, one, 6s, kNow);
    const auto told = next_owners(record, kNow);
    REQUIRE(told.size() == c.told);
    for (std::size_t i = 0; i < told.size(); ++i) CHECK(told[i] == c.waiters[i].owner.text());
  }
}

TEST_CASE("nobody frees another's lock, and who gives up leaves the queue") {
  const Held held;
  CHECK_FALSE(give_back(held.exclusive, held.b.text(), kNow));
  CHECK_FALSE(give_back(held.exclusive, held.a.text(), kNow + 11 * kSecond));
  CHECK(give_back(held.exclusive, held.a.text(), kNow)->holders.empty());
  CHECK(give_back(held.shared, held.a.text(), kNow)->holders.size() == 1);
  const LeaseAsk us = ask();
  const auto left = give_back(with_waiter(held.exclusive, us, 6s, kNow), us.owner.text(), kNow);
  REQUIRE(left);
  CHECK(left->waiters.empty());
  CHECK(left->holders.size() == 1);
}

TEST_CASE("who has given up leaves a word that keeps a late take out, and counts for nothing") {
  const LockRecord record = given_up({}, "owner");
  CHECK_FALSE(encode_record(record).empty());
  const auto read = decode_record({encode_record(record), 5, kNow}, kNow);
  REQUIRE(read);
  CHECK(is_free(*read, kNow));
  CHECK(taken(try_take(*read, ask(), kNow)));
  CHECK(state_of(*read, *LockName::parse("k"), "", kNow).waiters.empty());
}

TEST_CASE("who was asked to end stays with what it heard first") {
  const Held held;
  const LockState shown = state_of(held.exclusive, *LockName::parse("k"), "", kNow);
  const auto asked = ask_back(held.exclusive, shown, "ops: release");
  REQUIRE(asked);
  CHECK(revocation_of(asked->holders[0].who) == "ops: release");
  CHECK(revocation_of(ask_back(*asked, shown, "else")->holders[0].who) == "ops: release");
  CHECK_FALSE(ask_back({}, shown, "ops"));
}

TEST_CASE("a record is what was written, whatever a reason contains") {
  Held held;
  LockRecord record = held.shared;
  record.holders[0].who =
      "host\x1f"
      "12\x1fuser\x1freason with 'quotes', spaces and \xc3\xa9";
  record.waiters.push_back({.owner = "w", .mode = Mode::kPermits, .since = kNow, .until = kNow + 5, .who = "why = +1"});
  const auto back = decode_record({encode_record(record), record.version, kNow}, kNow);
  REQUIRE(back);
  CHECK(*back == record);
  record.holders[0].who = "two\nlines";
  CHECK(decode_record({encode_record(record), 1, kNow}, kNow)->holders[0].who == "two lines");
}

TEST_CASE("what is no record of ours is not understood") {
  for (const char* text :
       {"x", "\n", "x 0", "z 0\n", "x -1\n", "x 0\n", "x 0\nw o x 0 1 \n", "x 0\nh o 0 1 1 0 \n", "x 0\nh\n",
        "x 0\nh o 1 2 3 4 who", "x 0\nh o 1 2 3\n", "x 0\nh o 1 2 three 4 who\n", "x 0\nh o -1 2 3 4 who\n",
        "x 0\nw o z 1 2 who\n", "x 0\nq o x 1 2 who\n", "x 0\nh o = = +9100000000000000 0 who\n", "5 0 0 0"}) {
    CAPTURE(text);
    CHECK_FALSE(decode_record({text, 1, kNow}, kNow).has_value());
  }
}

}  // namespace
}  // namespace dlock::row_rules_test
