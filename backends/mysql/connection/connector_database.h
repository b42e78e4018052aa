// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backends/mysql/connection/database.h"

namespace dlock::mysql {

/// Begins to connect by MySQL Connector/C++ 1.1. Its calls block and count time-outs in whole seconds, so a thread of
/// the connection's own makes them (ConnectorSession), with all signals blocked; the owner polls for the outcome among
/// everything else, and decides how long. A call that is abandoned is answered at once; the thread ends when the broken
/// socket wakes it, within connect_timeout at the latest if no server has said anything yet, or with the process: it
/// owns all that it uses.
std::unique_ptr<Database> connect_by_connector(const DatabaseSettings& settings);

}  // namespace dlock::mysql
