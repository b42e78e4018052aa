// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backends/mysql/database.h"

namespace dlock::mysql {

/// Begins to connect by MySQL Connector/C++ 1.1 (which is included in connector_database.cpp and nowhere else). Its
/// calls block and count time-outs in whole seconds, so each connection has a thread of its own, with all signals
/// blocked; who owns the Database waits for an eventfd, with any deadline, and abandon() shuts the socket down under
/// the call. What the library does not do, or does wrong, is made good here: README.md, "The connector".
std::unique_ptr<Database> connect_by_connector(const DatabaseSettings& settings);

}  // namespace dlock::mysql
