// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/mysql/connection/database.h"
#include "lib/base/clock.h"
#include "lib/keeper/control.h"

namespace dlock::mysql {

/// Waits for the outcome of what was begun on `database`, until `until` (nullopt: for ever) or until control (may be
/// nullptr) wants it to end; an answer that is on its way then is waited for, 400 ms at most. After that the connection
/// is abandoned, because a late answer would belong to nobody, and the Failure is cancelled: the outcome is not known.
Outcome await(Database& database, Clock& clock, std::optional<TimePoint> until, Control* control);

/// begin() and await().
Outcome ask(Database& database, std::string statement, Clock& clock, TimePoint until, Control* control);

}  // namespace dlock::mysql
