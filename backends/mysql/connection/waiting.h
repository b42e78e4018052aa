// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "backends/mysql/connection/servers.h"
#include "lib/keeper/acquisition.h"

namespace dlock::mysql {

struct Waited {
  std::optional<Outcome> outcome;  ///< nullopt: control wants an end, or `until` has come
  bool went_on = false;            ///< the statement that follows the wait was sent too
};

/// Waits for the outcome of the statement that was begun on the connection of `servers`, as Acquisition::wait_on()
/// does. Without an outcome, the connection is abandoned and its session `id` on the server ended.
Waited wait_on_server(Acquisition& acquisition, Servers& servers, Clock& clock, std::uint64_t id, TimePoint until,
                      Control& control);

}  // namespace dlock::mysql
