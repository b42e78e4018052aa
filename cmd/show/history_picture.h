// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "lib/history/history.h"
#include "lib/history/timeline.h"

namespace dlock {

/// The attempts as a picture: a heading for each key, a lane for each holder (attempts of one user, host and command
/// that do not overlap share one). `now` is where what has no known end is drawn to; nothing before `from` and
/// behind `to` is drawn.
Timeline history_picture(const std::vector<Episode>& episodes, WallTime now, std::optional<WallTime> from,
                         std::optional<WallTime> to);

}  // namespace dlock
