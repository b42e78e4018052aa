// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/redis/wire/connection.h"
#include "lib/base/result.h"

namespace dlock::redis {

/// What one sentinel says: the master's address, that it knows no such master (nullopt), or why it said nothing.
struct SentinelVote {
  Endpoint sentinel;
  Result<std::optional<Endpoint>> answer;
};

/// The address that more than half of `configured` sentinels name, or nothing.
std::optional<Endpoint> elected(const std::vector<SentinelVote>& votes, std::size_t configured);

/// Why there is none, with the reason of each one. Unavailable if it may become different by itself; Misconfigured or
/// Denied if so many know no such master, or refuse to say, that the others cannot be a majority.
Error not_elected(const std::vector<SentinelVote>& votes, std::size_t configured, const std::string& master);

}  // namespace dlock::redis
