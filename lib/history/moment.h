// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/base/time.h"

namespace dlock {

/// "2026-02-03T04:05:06.789Z", or with an offset such as +01:00; nullopt for anything else.
std::optional<WallTime> parse_rfc3339(std::string_view text);

/// A moment as people write it: a duration, which is that long before `now` ("1h", "90s"); "today", "yesterday" (their
/// midnight) or a time of today ("03:00"), in the time zone of this process; or RFC 3339. Invalid for anything else.
Result<WallTime> parse_moment(std::string_view text, WallTime now);

/// How far the zone of this process (TZ) is ahead of UTC at that moment, and how it is called.
struct Zone {
  std::chrono::seconds ahead{};
  std::string name;
};
Zone zone_at(WallTime time);

/// "2026-02-03 04:05:06" in the zone of this process.
std::string local_time(WallTime time);

}  // namespace dlock
