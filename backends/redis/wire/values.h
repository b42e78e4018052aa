// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "backends/redis/wire/reply.h"
#include "lib/base/text.h"
#include "lib/base/time.h"
#include "lib/config/duration_text.h"

namespace dlock::redis {

/// A length of time for a script: whole milliseconds, rounded up.
inline std::string ms_text(Duration d) {
  return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(d).count());
}

/// A moment from a script: ms since 1970 by the server's clock, no later than a Duration reaches (2262). Another client
/// may have chosen any end for its key.
inline WallTime from_ms(std::int64_t ms) {
  constexpr std::int64_t kLatest = Duration::max() / std::chrono::milliseconds(1);
  return WallTime(std::chrono::milliseconds(std::min(ms, kLatest)));
}

/// The server's time from a script: microseconds since 1970, as text.
inline WallTime server_time(const Reply& us) { return from_ms(leading_number<std::int64_t>(us.text) / 1000); }

/// The rest of a lease from PTTL, in ms, a century at most: 0 if it is over (-2); nullopt: it has no end (-1).
inline std::optional<Duration> lease_left(std::int64_t pttl) {
  if (pttl >= kLongestDuration / std::chrono::milliseconds(1)) return kLongestDuration;
  if (pttl >= 0) return std::chrono::milliseconds(pttl);
  return pttl == -2 ? std::optional(Duration(0)) : std::nullopt;
}

/// A list of names and values in turn, as HGETALL gives it.
inline std::map<std::string, std::string> pairs(const Reply& reply) {
  std::map<std::string, std::string> map;
  for (std::size_t i = 0; i + 1 < reply.elements.size(); i += 2)
    map[reply.elements[i].text] = reply.elements[i + 1].text;
  return map;
}

}  // namespace dlock::redis
