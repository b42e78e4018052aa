// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "cmd/options/options.h"
#include "cmd/wiring/compose.h"
#include "lib/base/runtime.h"
#include "lib/run/run_locked.h"
#include "lib/run/signal_inbox.h"

namespace dlock {

/// The outcome of take_locks().
struct Taken {
  Store store;                           ///< the one that was asked last
  std::unique_ptr<LockSession> session;  ///< with the outcome kGranted it holds the locks, and the caller releases them
  SupervisorState state;
  TimePoint started{};  ///< when the first store was asked
};

/// Takes options.keys from the backend, or from the first of its fallbacks that can be reached, runs `command` under
/// them, and releases them. With a null `command` it returns as soon as they are granted. With --if-unavailable=run and
/// no store that can be reached, `command` runs without a lock. How it went, also that the locks were busy, is in
/// Taken::state; an Error means that the options do not fit the store (78), and that no lock was asked for.
Result<Taken> take_locks(const Options& options, const Runtime& runtime, Intent intent, LockedCommand* command,
                         SignalInbox& signals);

/// Whether it had replaced others (--replace), and gives way to a later run that does.
bool is_superseded(const Options& options, const SupervisorState& s);

/// For a lock that was not granted, or was lost before anything ran: says why on stderr, and returns the exit status.
/// If a signal ended the wait, this process dies of that signal instead. REQUIRES: the outcome is kRefused, kLost,
/// kOverheld or kInterrupted.
int explain_not_taken(const Options& options, const Runtime& runtime, const Taken& taken);

}  // namespace dlock
