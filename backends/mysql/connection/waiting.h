// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "backends/mysql/connection/servers.h"
#include "lib/keeper/acquisition.h"

namespace dlock::mysql {

/// Waits for the outcome of what was begun on the connection, as Acquisition::wait_on() does. nullopt: control wants it
/// to end, or `until` has come; then the connection is gone, and its session `id` on the server too.
std::optional<Outcome> wait_on_server(Acquisition& acquisition, Servers& servers, Clock& clock, std::uint64_t id,
                                      TimePoint until, Control& control);

}  // namespace dlock::mysql
