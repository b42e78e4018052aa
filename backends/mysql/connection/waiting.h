// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "backends/mysql/connection/servers.h"
#include "lib/keeper/acquisition.h"

namespace dlock::mysql {

struct Waited {
  std::optional<Outcome> outcome;  ///< nullopt: control wants an end, or `until` has come
  bool went_on = false;            ///< what was to follow was sent
};

/// Waits for the outcome of what was begun on the connection, as Acquisition::wait_on() does. Without one the
/// connection is gone, and its session `id` on the server too.
Waited wait_on_server(Acquisition& acquisition, Servers& servers, Clock& clock, std::uint64_t id, TimePoint until,
                      Control& control);

}  // namespace dlock::mysql
