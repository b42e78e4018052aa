// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/quorum/rules.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace dlock::redis::rules_test {
namespace {

using namespace std::chrono_literals;

/// "ggr-." is granted, granted, refused, no answer, open.
std::vector<Vote> votes_of(const std::string& text) {
  std::vector<Vote> votes;
  for (const char c : text) {
    votes.push_back(c == 'g' ? Vote::kGranted : c == 'r' ? Vote::kRefused : c == '-' ? Vote::kNone : Vote::kOpen);
  }
  return votes;
}

struct Row {
  const char* votes;
  Tally tally;
};

TEST_CASE("two majorities of the same servers always share one") {
  for (std::size_t n = 1; n <= 9; ++n) CHECK(2 * majority(n) > n);
  CHECK(majority(1) == 1);
  CHECK(majority(4) == 3);
  CHECK(majority(5) == 3);
}

TEST_CASE("an acquire is decided as soon as the open votes cannot change it") {
  const Row rows[] = {
      {".....", Tally::kOpen},   {"gg...", Tally::kOpen},    {"ggg..", Tally::kWon},     {"gggrr", Tally::kWon},
      {"rr...", Tally::kOpen},   {"rrr..", Tally::kRefused}, {"ggrr.", Tally::kOpen},    {"ggrrr", Tally::kRefused},
      {"rr-..", Tally::kOpen},   {"rr--.", Tally::kOpen},    {"rr--r", Tally::kRefused}, {"rr---", Tally::kSilent},
      {"gg---", Tally::kSilent}, {"---..", Tally::kSilent},  {"-----", Tally::kSilent},  {"ggr--", Tally::kRefused},
      {"gg--.", Tally::kOpen},   {"ggg--", Tally::kWon},     {"ggrr", Tally::kRefused},  {"gg..", Tally::kOpen},
      {"rr..", Tally::kOpen},    {"rrr.", Tally::kRefused},  {"gg--", Tally::kSilent},   {"g", Tally::kWon},
      {"r", Tally::kRefused},    {"-", Tally::kSilent},      {".", Tally::kOpen},
  };
  for (const Row& row : rows) {
    CAPTURE(row.votes);
    CHECK(count_votes(votes_of(row.votes)) == row.tally);
  }
}

TEST_CASE("a final tally stays the same whatever the open votes become") {
  for (int code = 0; code < 4 * 4 * 4 * 4 * 4; ++code) {
    std::string text;
    for (int i = 0, rest = code; i < 5; ++i, rest /= 4) text.push_back("gr-."[rest % 4]);
    const auto open = text.find('.');
    if (open == std::string::npos) {
      CHECK(count_votes(votes_of(text)) != Tally::kOpen);
      CHECK(count_renewals(votes_of(text)) != Tally::kOpen);
      continue;
    }
    for (const char becomes : {'g', 'r', '-'}) {
      std::string later = text;
      later[open] = becomes;
      CAPTURE(text);
      CAPTURE(later);
      const Tally taken = count_votes(votes_of(text));
      if (taken == Tally::kWon || taken == Tally::kSilent) CHECK(count_votes(votes_of(later)) == taken);
      if (taken == Tally::kRefused) CHECK(count_votes(votes_of(later)) == Tally::kRefused);
      const Tally kept = count_renewals(votes_of(text));
      if (kept == Tally::kWon || kept == Tally::kRefused) CHECK(count_renewals(votes_of(later)) == kept);
    }
  }
}

TEST_CASE("a held lock is lost only when the silent servers could not save it") {
  const Row rows[] = {
      {"ggg..", Tally::kWon},     {"gggrr", Tally::kWon},     {"ggr--", Tally::kSilent}, {"rr---", Tally::kSilent},
      {"rrr--", Tally::kRefused}, {"ggrrr", Tally::kRefused}, {"ggrr.", Tally::kOpen},   {"rrr..", Tally::kRefused},
      {"rr", Tally::kRefused},    {"ggrr", Tally::kRefused},  {"gg-r", Tally::kSilent},  {"-----", Tally::kSilent},
  };
  for (const Row& row : rows) {
    CAPTURE(row.votes);
    CHECK(count_renewals(votes_of(row.votes)) == row.tally);
  }
}

TEST_CASE("the token is the largest of those that were drawn") {
  const std::uint64_t counters[] = {7, 9, 8};
  CHECK(token_of(counters) == 9);
  CHECK(token_of({}) == 0);
}

TEST_CASE("the token of another's lock is what most of its servers say") {
  const std::uint64_t counters[] = {7, 9, 7, 12};
  CHECK(most_common(counters) == 7);
  const std::uint64_t torn[] = {9, 8};
  CHECK(most_common(torn) == 8);
  CHECK(most_common({}) == 0);
}

TEST_CASE("a majority is free when enough of the leases have ended") {
  CHECK(until_majority(5, 0, {5s, 3s, 4s, 1s, 2s}) == 3s);
  CHECK(until_majority(5, 2, {5s, 3s, 4s}) == 3s);
  CHECK(until_majority(5, 3, {5s, 3s}) == 0s);
  CHECK(until_majority(4, 2, {5s, 3s}) == 3s);
  CHECK_FALSE(until_majority(5, 1, {5s}).has_value());
}

TEST_CASE("a step of a server's clock is what the way there and back cannot explain") {
  const TimePoint start(1h);
  const ClockReading before{start, start + 10ms, 1000ms};
  const auto later = [&](std::chrono::microseconds server) {
    return clock_step(before, ClockReading{start + 10s, start + 10s + 20ms, server});
  };
  CHECK(later(1000ms + 10s) == 0s);
  CHECK(later(1000ms + 10s + 20ms) == 0s);
  CHECK(later(1000ms + 10s - 10ms) == 0s);
  CHECK(later(1000ms + 10s + 21ms) == 1ms);
  CHECK(later(1000ms + 70s) == 60s - 20ms);
  CHECK(later(1000ms - 1h) == -(1h + 10s - 10ms));
}

}  // namespace
}  // namespace dlock::redis::rules_test
