// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backends/mysql/connection/database.h"

namespace dlock::mysql {

/// Begins to connect by MySQL Connector/C++ 1.1 (which is included in connector_database.cpp and nowhere else). Its
/// calls block and count time-outs in whole seconds, so they run in a Fiber, which gives control back where they would
/// block: the owner polls and decides how long. What else the library does not do, or does wrong, is made good here:
/// README.md, "The connector".
std::unique_ptr<Database> connect_by_connector(const DatabaseSettings& settings);

}  // namespace dlock::mysql
