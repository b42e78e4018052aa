// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backends/mysql/connection/servers.h"
#include "backends/mysql/connection/settings.h"
#include "backends/mysql/lease/record.h"

namespace dlock::mysql {

/// A waiter describes itself in a comment in the statement by which it waits, so that the server's process list shows
/// the queue.
struct WaitingNote {
  std::string owner;
  Mode mode = Mode::kExclusive;
  ServerTime since = 0;
  std::string who;
  bool takes = true;  ///< false: only wants to know when the lock is free (`dlock wait`); not shown as a waiter
};

/// "SELECT /* dlock waits ... */ ": the beginning of a waiting statement, which names the waiter and the lock.
std::string waiting_comment(Strategy strategy, const LockName& name, const WaitingNote& note);

/// The waiters of a lock that this account may see in the process list, in the order in which they came.
Result<std::vector<Participant>> waiters_of(Servers& servers, Strategy strategy, const LockName& name, TimePoint until,
                                            Control* control);
/// Those of all locks of `strategy`, by the names of these.
using Waiters = std::map<std::string, std::vector<Participant>>;
Result<Waiters> all_waiters(Servers& servers, Strategy strategy, TimePoint until);

/// The names in dlock_lock for which `condition` holds, in canonical order.
Result<std::vector<LockName>> names_where(Servers& servers, Strategy strategy, const std::string& condition,
                                          TimePoint until);
/// Those that have a holder or a waiter.
Result<std::vector<LockName>> live_names(Servers& servers, Strategy strategy, TimePoint until);

}  // namespace dlock::mysql
