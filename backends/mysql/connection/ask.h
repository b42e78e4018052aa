// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/mysql/connection/database.h"
#include "lib/base/clock.h"
#include "lib/keeper/control.h"

namespace dlock::mysql {

/// Waits for the outcome of the statement that was begun on `database`, until `until` (nullopt: for ever) or until
/// control (may be nullptr) wants an end, and then for at most 400 ms more. Without an answer it abandons the
/// connection, because a late answer would have no reader, and returns a Failure with `cancelled`: the outcome is
/// unknown.
Outcome await(Database& database, Clock& clock, std::optional<TimePoint> until, Control* control);

/// begin() and await().
Outcome ask(Database& database, std::string statement, Clock& clock, TimePoint until, Control* control);

}  // namespace dlock::mysql
