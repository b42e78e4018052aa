// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <variant>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/base/time.h"
#include "lib/lock/lock_session.h"

namespace dlock {

// For callers that wait for nothing else: each drives one session to its answer on `clock`. Single-threaded; handles no
// signals. (The supervisor of a command has a loop of its own.)

/// acquire(), then waits until the session says Granted or Refused; for as long as its LockSpec allows. A session that
/// ends in any other way counts as Refused: Cancelled, Lost or Unavailable.
std::variant<Granted, Refused> acquire_and_wait(LockSession& session, Clock& clock);

/// release(), then waits at most `within` for its confirmation. Lost if it was no longer ours, Unavailable (or the
/// session's own reason) if it was not confirmed.
Result<void> release_and_wait(LockSession& session, Clock& clock, Duration within);

/// The next event, waited for until `until` at the latest (nullopt: for ever); nullopt if none came.
std::optional<SessionEvent> wait_for_event(LockSession& session, Clock& clock, std::optional<TimePoint> until);

}  // namespace dlock
