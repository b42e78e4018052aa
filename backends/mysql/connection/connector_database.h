// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backends/mysql/connection/database.h"

namespace dlock::mysql {

/// Begins to connect by MySQL Connector/C++ 1.1. Its calls block and count time-outs in whole seconds, so a thread of
/// the connection's own makes them (ConnectorSession), with all signals blocked; the owner polls for the outcome and
/// decides how long to wait. An abandoned call has its outcome at once; the thread, which owns all that it uses, ends
/// when the broken socket wakes it (if the server has said nothing yet, within connect_timeout), or with the process.
std::unique_ptr<Database> connect_by_connector(const DatabaseSettings& settings);

}  // namespace dlock::mysql
