// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

#include "lib/base/result.h"
#include "lib/history/event_log.h"
#include "lib/history/history.h"

namespace dlock {

enum class Pipes {
  kRefused,  ///< as if nothing could be read from them
  kRead      ///< to their end, for which it waits
};

/// Calls `use` with each line that was recorded in `place`, the oldest first. Of a file FILE.1, which logrotate leaves,
/// comes before FILE; the journal is asked through journalctl(1). Misconfigured if no
/// events are recorded, where they cannot be read, and at a line that is too long for one; Denied if that is not ours
/// to read.
Result<void> read_events(const EventPlace& place, const std::function<void(std::string_view line)>& use,
                         Pipes pipes = Pipes::kRefused);

/// The same as a history that ends `now`.
Result<History> read_history(const EventPlace& place, WallTime now, Pipes pipes = Pipes::kRefused);

}  // namespace dlock
