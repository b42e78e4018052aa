// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "cmd/options/options.h"
#include "cmd/wiring/compose.h"
#include "lib/base/runtime.h"
#include "lib/run/locked_command.h"
#include "lib/run/run_locked.h"
#include "lib/run/signal_inbox.h"

namespace dlock {

/// What became of one attempt to take the locks.
struct Taken {
  Store store;
  std::unique_ptr<LockSession> session;  ///< still holding when the outcome is kGranted
  SupervisorState state;
  TimePoint started{};
};

/// Takes options.keys from the backend, or from the first of its fallbacks that can be reached, and supervises
/// `command` under them (null: being granted is the end). With --if-unavailable=run and nothing reachable, `command`
/// runs unlocked. An Error is one of the call itself (78): no lock was asked for.
Result<Taken> take_locks(const Options& options, const Runtime& runtime, Intent intent, LockedCommand* command,
                         SignalInbox& signals, RunObserver& observer);

/// Says on stderr what there is to say about a lock that was not granted, and gives the exit status for it; dies of the
/// signal that ended the waiting. REQUIRES: the outcome is kRefused, kLost, kOverheld or kInterrupted.
int explain_not_taken(const Options& options, const Runtime& runtime, const Taken& taken);

}  // namespace dlock
