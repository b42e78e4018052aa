// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/mysql/connection/database.h"
#include "backends/mysql/connection/servers.h"
#include "backends/mysql/connection/settings.h"
#include "lib/base/unique_fd.h"
#include "lib/lock/lock_admin.h"

namespace dlock::mysql {

/// What every strategy does in the same way. Bounded by `until`. Errors as of error_of().

/// One statement on the writable server; again after a deadlock or a lock wait that the server ended.
Result<Answer> run_statement(Servers& servers, const std::string& statement, Clock& clock, TimePoint until,
                             Control* control = nullptr);

/// The same, but nullopt where somebody else's transaction has the row.
Result<std::optional<Answer>> try_statement(Servers& servers, const std::string& statement, Clock& clock,
                                            TimePoint until, Control* control);

/// Gives up what the connection of `servers` waits for: breaks it, and ends its session `id` through another one where
/// that is allowed, because a server notices a lost client within a second only, and in a wait for a row not at all.
void end_session(Servers& servers, std::uint64_t id, Clock& clock);

/// The names of `strategy` in dlock_lock that have a holder, and those somebody waits for, in canonical order.
Result<std::vector<LockName>> live_names(Servers& servers, Strategy strategy, Clock& clock, TimePoint until);

/// The same, of those whose row says that its holders' time is over.
Result<std::vector<LockName>> ended_names(Servers& servers, Strategy strategy, Clock& clock, TimePoint until);

/// The check that a resource makes: dlock_fence remembers the highest token. A server cannot keep other checks out for
/// as long as a command runs, so the descriptor is none.
Result<UniqueFd> fence_row(Servers& servers, const LockName& resource, FencingToken token, Clock& clock,
                           TimePoint until);

/// Rows of dlock_lock that nobody holds and whose counter is a day behind the clock: the clock alone makes the next
/// token larger.
Result<std::vector<Swept>> sweep_rows(Servers& servers, Strategy strategy, bool dry_run, Clock& clock, TimePoint until);

/// Creates the tables that are missing and says which; with `print_only` the statements. Misconfigured for a table of
/// another version.
Result<std::string> set_up_tables(Servers& servers, const Settings& settings, bool print_only, Clock& clock,
                                  TimePoint until);

}  // namespace dlock::mysql
