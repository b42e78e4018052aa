// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "backends/mysql/connection/servers.h"
#include "lib/keeper/acquisition.h"

namespace dlock::mysql {

struct Waited {
  std::optional<AnswerOrFailure>
      outcome;           ///< nullopt: control wants an end, `until` has come, or the server has lost us
  bool went_on = false;  ///< the statement that follows the wait was sent too
};

/// How long a statement is to wait in the server's queue: to the end, since who leaves it and comes again is the last.
int wait_seconds(std::optional<TimePoint> until, TimePoint now);

enum class WaitsFor { kGate, kRow };

/// Waits for the outcome of the statement that was begun on the connection of `servers`, as Acquisition::wait_on()
/// does; after a long silence it asks the server, beside, whether the session `id` is still there. A wait for a row
/// ends soon after the server has begun to refuse changes, because that would wait for it. Without an outcome, the
/// connection is abandoned and that session ended.
Waited wait_on_server(Acquisition& acquisition, Servers& servers, Clock& clock, std::uint64_t id,
                      std::optional<TimePoint> until, Control& control, WaitsFor what = WaitsFor::kGate);

}  // namespace dlock::mysql
