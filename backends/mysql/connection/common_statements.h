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

// Statements that every strategy uses. All are bounded by `until`; errors as of error_of().

/// Runs one statement on the writable server; repeats after a deadlock or a lock wait that the server ended.
Result<Answer> run_statement(Servers& servers, const std::string& statement, Clock& clock, TimePoint until,
                             Control* control = nullptr);

/// The same, but returns nullopt if another transaction has locked the row.
Result<std::optional<Answer>> try_statement(Servers& servers, const std::string& statement, Clock& clock,
                                            TimePoint until, Control* control);

/// Ends a wait of the connection of `servers`: breaks that connection, and ends its session `id` through another one if
/// this account may, because a server takes up to a second to notice a lost client, and does not notice it in a wait
/// for a row.
void end_session(Servers& servers, std::uint64_t id, Clock& clock);

/// Whether the server still has the session `id`, as far as this account may see.
bool is_live_session(Servers& servers, std::uint64_t id, Clock& clock, TimePoint until);

/// The names of `strategy` in dlock_lock that have a holder or a waiter, in canonical order.
Result<std::vector<LockName>> live_names(Servers& servers, Strategy strategy, Clock& clock, TimePoint until);

/// The names of `strategy` whose row says that the leases of its holders are over, in canonical order.
Result<std::vector<LockName>> ended_names(Servers& servers, Strategy strategy, Clock& clock, TimePoint until);

/// Checks `token` against the highest one that dlock_fence has for `resource`, and remembers it; Lost if it is lower.
/// The descriptor is empty: a server cannot keep other checks out while a command runs.
Result<UniqueFd> fence_row(Servers& servers, const LockName& resource, FencingToken token, Clock& clock,
                           TimePoint until);

/// Removes (`dry_run`: lists) the rows of dlock_lock without a holder whose counter is more than a day behind the
/// clock: the next token is larger without them, because it comes from the clock.
Result<std::vector<Swept>> sweep_rows(Servers& servers, Strategy strategy, bool dry_run, Clock& clock, TimePoint until);

/// Creates the missing tables and returns a text that names them; with `print_only` only returns the statements.
/// Misconfigured for a table of another version.
Result<std::string> set_up_tables(Servers& servers, const Settings& settings, bool print_only, Clock& clock,
                                  TimePoint until);

}  // namespace dlock::mysql
