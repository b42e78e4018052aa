// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lib/base/time.h"

namespace dlock::redis {

/// The arithmetic of a lock on N independent servers, all of it pure (facts of the algorithm: "Distributed Locks with
/// Redis", redis.io; Gifford, "Weighted voting for replicated data", SOSP 1979).

/// What one server has said to one question.
enum class Vote {
  kOpen,     ///< nothing yet, an answer may still come
  kGranted,  ///< ours
  kRefused,  ///< the server answered: not ours
  kNone,     ///< there is no answer, or it must not count (unreachable, error, started lately without its data)
};

/// What the votes come to. Everything but kOpen is final, whatever the open votes will say.
enum class Outcome {
  kOpen,
  kWon,      ///< a majority is ours
  kRefused,  ///< a majority has answered, and the servers that refused have kept us from winning
  kSilent,   ///< too few answers to tell
};

/// The smallest number of servers of which two sets always share one: N / 2 + 1.
std::size_t majority(std::size_t servers);

/// For an acquire. An even split (2 of 4 each) is a refusal: both sides must try again.
Outcome count_votes(std::span<const Vote> votes);

/// For a lock that we believe to hold: refused only if it cannot be ours any more even if every server that did not
/// answer still has it; with fewer answers than a majority of ours: silent.
Outcome count_renewals(std::span<const Vote> votes);

/// The token of a grant whose servers drew `counters`: the largest. 0 for none.
std::uint64_t token_of(std::span<const std::uint64_t> counters);

/// What most of `numbers` agree on (the smallest of several such): the token of somebody else's lock. 0 for none.
std::uint64_t most_common(std::span<const std::uint64_t> numbers);

/// How long until a majority of `servers` could be ours, when `granted` are and the others' leases end after
/// `remaining`. nullopt: never by itself.
std::optional<Duration> until_majority(std::size_t servers, std::size_t granted, std::vector<Duration> remaining);

/// When a server's clock was read: somewhere between two of our points in time.
struct ClockReading {
  TimePoint sent;
  TimePoint received;
  std::chrono::microseconds server{0};
};

/// How far the server's clock has moved against ours from one reading to the other, beyond what the way there and back
/// explains. Positive: it went forward (leases end early). Zero: nothing to see.
Duration clock_step(const ClockReading& before, const ClockReading& now);

}  // namespace dlock::redis
