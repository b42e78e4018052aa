// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backends/mysql/connection/servers.h"
#include "backends/mysql/connection/settings.h"
#include "lib/lock/holder.h"
#include "lib/rows/row_queue.h"

namespace dlock::mysql {

/// "SELECT /* dlock waits ... */ ": the beginning of a waiting statement. A waiter describes itself in a comment, so
/// that the server's process list shows the queue.
std::string waiting_comment(Strategy strategy, const LockName& name, const WaitingNote& note);

/// The waiters of a lock that this account may see in the process list, in the order in which they came.
Result<std::vector<Participant>> waiters_of(Servers& servers, Strategy strategy, const LockName& name, TimePoint until,
                                            Control* control);
/// Those of all locks of `strategy`, by the names of these.
using Waiters = std::map<std::string, std::vector<Participant>>;
Result<Waiters> all_waiters(Servers& servers, Strategy strategy, TimePoint until);

}  // namespace dlock::mysql
