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

/// One server's answer to one question.
enum class Vote {
  kOpen,     ///< nothing yet, an answer may still come
  kGranted,  ///< ours
  kRefused,  ///< the server answered: not ours
  kNone,     ///< there is no answer, or it must not count (unreachable, error, started lately without its data)
};

/// The result of the votes. All but kOpen are final, whatever the open votes will be.
enum class Tally {
  kOpen,
  kWon,      ///< a majority is ours
  kRefused,  ///< a majority has answered, and the servers that refused have kept us from winning
  kSilent,   ///< too few answers to decide
};

/// The smallest number such that any two sets of so many servers have one in common: N / 2 + 1.
std::size_t majority(std::size_t servers);

/// Counts the votes on an acquire. An even split (2 of 4 each) is a refusal: both sides must try again.
Tally count_votes(std::span<const Vote> votes);

/// Counts the votes on a renewal or release of a lock that we believe to hold. kRefused only if a majority cannot be
/// ours even if the key of every server that did not answer still is; kSilent if neither this nor kWon is certain.
Tally count_renewals(std::span<const Vote> votes);

/// The token of a grant whose servers drew `counters`: the largest. 0 for none.
std::uint64_t token_of(std::span<const std::uint64_t> counters);

/// The most frequent of `numbers` (the smallest of several such), for the token of another owner's lock. 0 for none.
std::uint64_t most_common(std::span<const std::uint64_t> numbers);

/// How long until a majority of `servers` could be ours, if `granted` keys are ours and the leases at others end after
/// `remaining`. nullopt: never without a release.
std::optional<Duration> until_majority(std::size_t servers, std::size_t granted, std::vector<Duration> remaining);

/// When a server's clock was read: somewhere between two of our points in time.
struct ClockReading {
  TimePoint sent;
  TimePoint received;
  std::chrono::microseconds server{0};
};

/// How far the server's clock has moved against ours between two readings, beyond what the round-trip times explain.
/// Positive: it went forward, so that leases end early. Zero: no step is certain.
Duration clock_step(const ClockReading& before, const ClockReading& now);

}  // namespace dlock::redis
