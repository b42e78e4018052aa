// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/redis/wire/connection.h"
#include "lib/base/result.h"

namespace dlock::redis {

/// The answer of one sentinel: the master's address, nullopt if it knows no such master, or why it did not answer.
struct SentinelVote {
  Endpoint sentinel;
  Result<std::optional<Endpoint>> answer;
};

/// The address that more than half of `configured` sentinels name; nullopt if there is none.
std::optional<Endpoint> elected(const std::vector<SentinelVote>& votes, std::size_t configured);

/// Why elected() has found none, with the reason of each sentinel. Unavailable if that may pass by itself;
/// Misconfigured or Denied if so many know no such master, or refuse to say, that the others cannot be a majority.
Error not_elected(const std::vector<SentinelVote>& votes, std::size_t configured, const std::string& master);

}  // namespace dlock::redis
