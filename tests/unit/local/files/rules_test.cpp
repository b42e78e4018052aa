// SPDX-License-Identifier: Apache-2.0
#include "backends/local/files/rules.h"

#include <doctest/doctest.h>

#include <vector>

namespace dlock::local::rules_test {
namespace {

bool overlap(const Range& a, const Range& b) { return a.first <= b.last && b.first <= a.last; }

bool excludes(const std::vector<Range>& ranges, Side side, Ticket ticket) {
  const Range bytes = ticket_bytes(side, ticket);
  for (const Range& range : ranges) {
    if (overlap(range, bytes)) return true;
  }
  return false;
}

constexpr Ticket kNow = 1'795'000'000'000'000;  // a ticket of the year 2026

}  // namespace

TEST_CASE("each ticket has bytes of its own, on both sides, and none of them is the guard") {
  const Ticket tickets[] = {1, 2, 3, kNow, kNow + 1, kMaxTicket - 1, kMaxTicket};
  std::vector<Range> all{kGuard};
  for (const Ticket ticket : tickets) {
    all.push_back(ticket_bytes(Side::kWriters, ticket));
    all.push_back(ticket_bytes(Side::kReaders, ticket));
    all.push_back(queue_byte(ticket));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i].first >= 0);
    CHECK(all[i].last >= all[i].first);
    for (std::size_t j = 0; j < i; ++j) CHECK_FALSE(overlap(all[i], all[j]));
  }
}

TEST_CASE("the owner of each byte of a ticket is that ticket") {
  for (const Ticket ticket : {Ticket{1}, Ticket{2}, kNow, kMaxTicket}) {
    for (const Side side : {Side::kWriters, Side::kReaders}) {
      for (int entry = 0; entry < kMaxEntries; ++entry) {
        const Range byte = entry_byte(side, ticket, entry);
        CHECK(byte.first == byte.last);
        const auto owner = owner_of_byte(byte.first);
        REQUIRE(owner);
        CHECK(owner->side == side);
        CHECK(owner->ticket == ticket);
        CHECK(owner->entry == entry);
      }
    }
  }
}

TEST_CASE("the guard, queue bytes and far offsets belong to no ticket") {
  CHECK_FALSE(owner_of_byte(kGuard.first));
  CHECK_FALSE(owner_of_byte(queue_byte(kNow).first));
  CHECK_FALSE(owner_of_byte(0));
  CHECK_FALSE(owner_of_byte(kAllTickets.first - 1));
  CHECK_FALSE(owner_of_byte(kAllTickets.last + 1));
}

TEST_CASE("a writer is excluded by everything older and unrevoked, a reader by older writers only") {
  struct Row {
    Side side;
    Ticket ticket;
    Ticket revoked;
    Side other_side;
    Ticket other;
    bool excluded;
  };
  using enum Side;
  const Row rows[] = {
      {kWriters, 10, 0, kWriters, 9, true},   {kWriters, 10, 0, kReaders, 9, true},
      {kWriters, 10, 0, kWriters, 1, true},   {kWriters, 10, 0, kReaders, 1, true},
      {kWriters, 10, 0, kWriters, 11, false}, {kWriters, 10, 0, kReaders, 11, false},
      {kWriters, 10, 0, kReaders, 10, false}, {kWriters, 10, 5, kWriters, 5, false},
      {kWriters, 10, 5, kReaders, 5, false},  {kWriters, 10, 5, kWriters, 6, true},
      {kWriters, 10, 5, kReaders, 6, true},   {kWriters, 10, 9, kWriters, 9, false},
      {kReaders, 10, 0, kWriters, 9, true},   {kReaders, 10, 0, kReaders, 9, false},
      {kReaders, 10, 0, kWriters, 11, false}, {kReaders, 10, 5, kWriters, 5, false},
      {kReaders, 10, 5, kWriters, 6, true},   {kWriters, 1, 0, kWriters, 2, false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.ticket);
    CAPTURE(row.revoked);
    CAPTURE(row.other);
    CHECK(excludes(excluding(row.side, row.ticket, row.revoked), row.other_side, row.other) == row.excluded);
  }
}

TEST_CASE("nobody waits for the guard or for itself") {
  for (const Ticket revoked : {Ticket{0}, Ticket{7}}) {
    for (const Side side : {Side::kWriters, Side::kReaders}) {
      for (const Range& range : excluding(side, 10, revoked)) {
        CHECK_FALSE(overlap(range, kGuard));
        CHECK_FALSE(overlap(range, ticket_bytes(side, 10)));
      }
    }
  }
}

TEST_CASE("being alone covers one's own hold, the guard and everything older, and nothing younger") {
  const Range whole = alone(kNow);
  CHECK(whole.first == entry_byte(Side::kWriters, kNow, 0).first);
  CHECK(overlap(whole, kGuard));
  for (const Ticket older : {Ticket{1}, kNow - 1}) {
    for (const Side side : {Side::kWriters, Side::kReaders}) {
      const Range bytes = ticket_bytes(side, older);
      CHECK(whole.first <= bytes.first);
      CHECK(whole.last >= bytes.last);
    }
  }
  for (int entry = 1; entry < kMaxEntries; ++entry) {
    CHECK_FALSE(overlap(whole, entry_byte(Side::kWriters, kNow, entry)));
  }
  CHECK_FALSE(overlap(whole, ticket_bytes(Side::kReaders, kNow)));
  CHECK_FALSE(overlap(whole, ticket_bytes(Side::kWriters, kNow + 1)));
}

TEST_CASE("permits queue behind older queue bytes, and count older readers") {
  CHECK_FALSE(queued_before(1, 0));
  CHECK_FALSE(queued_before(8, 7));
  const auto queued = queued_before(10, 5);
  REQUIRE(queued);
  CHECK(*queued == Range{queue_byte(6).first, queue_byte(9).first});
  CHECK_FALSE(readers_before(1, 0));
  const auto readers = readers_before(10, 5);
  REQUIRE(readers);
  CHECK(*readers == Range{ticket_bytes(Side::kReaders, 6).first, ticket_bytes(Side::kReaders, 9).last});
}

TEST_CASE("locked ranges in any order become live tickets with their entries, oldest first") {
  const std::vector<Range> locked{
      entry_byte(Side::kReaders, 30, 0), entry_byte(Side::kWriters, 20, 1), entry_byte(Side::kWriters, 20, 0), kGuard,
      entry_byte(Side::kWriters, 20, 9), entry_byte(Side::kReaders, 10, 3),
  };
  const auto live = live_tickets(locked);
  CHECK(live == std::vector<LiveTicket>{{Side::kReaders, 10, 1}, {Side::kWriters, 20, 3}, {Side::kReaders, 30, 1}});
}

TEST_CASE("whoever is just taking the short way is one live ticket with one entry") {
  CHECK(live_tickets({alone(50)}) == std::vector<LiveTicket>{{Side::kWriters, 50, 1}});
}

TEST_CASE("neighbouring bytes that one description locked count one by one") {
  CHECK(live_tickets({{entry_byte(Side::kReaders, 5, 0).first, entry_byte(Side::kReaders, 5, 2).first}}) ==
        std::vector<LiveTicket>{{Side::kReaders, 5, 3}});
}

TEST_CASE("a touch is told apart from an earlier one when that is older than the clocks are coarse") {
  constexpr std::int64_t kGranted = 1'700'000'000'000'000;  // in us
  constexpr std::int64_t kUnknown = 0;
  constexpr std::int64_t kInSeconds = 1'699'999'000'000'000'000;
  CHECK(differs_from_later((kGranted - 60'000) * 1000 + 1, kGranted));
  CHECK_FALSE(differs_from_later((kGranted - 20'000) * 1000 + 1, kGranted));
  CHECK_FALSE(differs_from_later((kGranted + 60'000) * 1000 + 1, kGranted));  // of before the clock was set back
  CHECK_FALSE(differs_from_later(kInSeconds, kGranted));
  CHECK_FALSE(differs_from_later(kUnknown, kGranted));
}

TEST_CASE("who holds and who waits follows from the order alone") {
  constexpr auto kW = Side::kWriters;
  constexpr auto kR = Side::kReaders;
  struct Row {
    const char* what;
    std::vector<LiveTicket> live;
    std::uint32_t permits;
    Ticket revoked;
    std::size_t holders;
    std::size_t waiters;
  };
  const Row rows[] = {
      {"nobody", {}, 0, 0, 0, 0},
      {"one writer", {{kW, 1, 1}}, 0, 0, 1, 0},
      {"a writer and those behind", {{kW, 1, 1}, {kR, 2, 1}, {kW, 3, 1}}, 0, 0, 1, 2},
      {"readers share", {{kR, 1, 1}, {kR, 2, 1}, {kR, 3, 1}}, 0, 0, 3, 0},
      {"readers behind a writer wait", {{kR, 1, 1}, {kR, 2, 1}, {kW, 3, 1}, {kR, 4, 1}}, 0, 0, 2, 2},
      {"two permits", {{kR, 1, 1}, {kR, 2, 1}, {kR, 3, 1}}, 2, 0, 2, 1},
      {"a permit behind a writer waits", {{kR, 1, 1}, {kW, 2, 1}, {kR, 3, 1}}, 2, 0, 1, 2},
      {"a revoked writer counts for nothing", {{kW, 1, 1}, {kR, 2, 1}, {kR, 3, 1}}, 0, 1, 2, 0},
      {"all revoked", {{kR, 1, 1}, {kR, 2, 1}}, 0, 2, 0, 0},
      {"a revoked reader makes room for a writer", {{kR, 1, 1}, {kW, 2, 1}}, 0, 1, 1, 0},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    const Line line = line_up(row.live, row.permits, row.revoked);
    CHECK(line.holders.size() == row.holders);
    CHECK(line.waiters.size() == row.waiters);
  }
}

TEST_CASE("the longer a queue, the more seldom each waiter looks at it") {
  using namespace std::chrono_literals;
  CHECK(queue_look_pause(0) == 1s);
  CHECK(queue_look_pause(14) == 1s);
  CHECK(queue_look_pause(1024) == 10240ms);
}

}  // namespace dlock::local::rules_test
