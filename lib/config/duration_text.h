// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/base/time.h"

namespace dlock {

/// The longest duration that anybody may ask for: 100 years, so that a point in time plus a duration never overflows.
inline constexpr Duration kLongestDuration = std::chrono::hours(24 * 365 * 100);

/// The one grammar for durations, in flags, variables, URLs and files: `10` and `0.5` are seconds; else number and unit,
/// once or several times with falling units: `500ms`, `10s`, `1m30s`, `2h`, `1d` (d, h, m or min, s, ms). What is finer
/// than a nanosecond is cut off. Invalid, with the reason, for everything else: empty, negative, an unknown unit, more
/// than kLongestDuration.
Result<Duration> parse_duration(std::string_view text);

/// For people: "250 ms", "2.5 s", "41 s", "1 m 30 s", "2 h 5 m", "3 d 4 h". Cut off, never rounded up.
std::string format_duration(Duration duration);

/// As one would type it: "500ms", "1m30s". parse_duration() gives the same duration back, to the millisecond.
std::string spell_duration(Duration duration);

}  // namespace dlock
