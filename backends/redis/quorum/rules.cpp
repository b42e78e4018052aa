// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/quorum/rules.h"

#include <algorithm>
#include <map>

namespace dlock::redis {
namespace {

std::size_t how_many(std::span<const Vote> votes, Vote vote) {
  return static_cast<std::size_t>(std::count(votes.begin(), votes.end(), vote));
}

}  // namespace

std::size_t majority(std::size_t servers) { return servers / 2 + 1; }

Tally count_votes(std::span<const Vote> votes) {
  const std::size_t needed = majority(votes.size());
  const std::size_t granted = how_many(votes, Vote::kGranted);
  const std::size_t refused = how_many(votes, Vote::kRefused);
  const std::size_t open = how_many(votes, Vote::kOpen);
  if (granted >= needed) return Tally::kWon;
  if (granted + open >= needed) return Tally::kOpen;
  if (granted + refused >= needed) return Tally::kRefused;
  return granted + refused + open >= needed ? Tally::kOpen : Tally::kSilent;
}

Tally count_renewals(std::span<const Vote> votes) {
  const std::size_t needed = majority(votes.size());
  if (how_many(votes, Vote::kGranted) >= needed) return Tally::kWon;
  if (votes.size() - how_many(votes, Vote::kRefused) < needed) return Tally::kRefused;
  return how_many(votes, Vote::kOpen) > 0 ? Tally::kOpen : Tally::kSilent;
}

std::uint64_t token_of(std::span<const std::uint64_t> counters) {
  return counters.empty() ? 0 : *std::max_element(counters.begin(), counters.end());
}

std::uint64_t most_common(std::span<const std::uint64_t> numbers) {
  std::map<std::uint64_t, int> seen;
  for (const std::uint64_t number : numbers) ++seen[number];
  const auto most =
      std::max_element(seen.begin(), seen.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == seen.end() ? 0 : most->first;
}

std::optional<Duration> until_majority(std::size_t servers, std::size_t granted, std::vector<Duration> remaining) {
  const std::size_t needed = majority(servers);
  if (granted >= needed) return Duration(0);
  if (remaining.size() < needed - granted) return std::nullopt;
  std::sort(remaining.begin(), remaining.end());
  return remaining[needed - granted - 1];
}

Duration clock_step(const ClockReading& before, const ClockReading& now) {
  const Duration theirs = now.server - before.server;
  const Duration most = now.received - before.sent;
  const Duration least = now.sent - before.received;
  if (theirs > most) return theirs - most;
  return theirs < least ? theirs - least : Duration(0);
}

}  // namespace dlock::redis
