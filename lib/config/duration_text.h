// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/base/time.h"

namespace dlock {

/// The longest duration that is accepted: 100 years, so that a point in time plus a duration never overflows.
inline constexpr Duration kLongestDuration = std::chrono::hours(24 * 365 * 100);

/// The one grammar for durations: `10` and `0.5` are seconds; else number and unit, once or several times with falling
/// units: `500ms`, `1m30s`, `1d` (d, h, m or min, s, ms). What is finer than a nanosecond is cut off. Invalid, with the
/// reason, for everything else, and for more than kLongestDuration.
Result<Duration> parse_duration(std::string_view text);

/// As one would type it: "500ms", "1m30s" (for reading: human_duration() in lib/base/human_text.h). parse_duration()
/// gives the same duration back, to the millisecond.
std::string spell_duration(Duration duration);

}  // namespace dlock
