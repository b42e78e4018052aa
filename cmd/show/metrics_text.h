// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lib/history/history.h"
#include "lib/lock/lock_admin.h"

namespace dlock {

/// What the metrics are computed from.
struct Measured {
  std::string store;  ///< redacted URL
  LiveLocks live;
  std::vector<Episode> past;  ///< from the recorded events (--events)
  WallTime now{};
};

/// How many keys have series of their own, in the order of their names; dlock_keys_left_out counts the others.
inline constexpr std::size_t kMostMeasuredKeys = 500;

/// OpenMetrics text, which node_exporter's textfile collector takes as well: holders, waiters and the age of the oldest
/// hold of each key of the store; grants, busy attempts, losses, waits and holds of each key that was recorded.
std::string metrics_text(const Measured& measured);

}  // namespace dlock
