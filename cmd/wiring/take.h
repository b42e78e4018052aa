// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "cmd/wiring/compose.h"
#include "cmd/wiring/lock_plan.h"
#include "lib/base/runtime.h"
#include "lib/run/run_locked.h"
#include "lib/run/signal_inbox.h"

namespace dlock {

/// Takes the locks of a plan, from its store or from the first of the next ones that can be reached, and knows how it
/// went.
class LockTaking {
 public:
  /// `options` and `runtime` must outlive it.
  LockTaking(const Options& options, const Runtime& runtime) : plan_(plan_locks(options)), runtime_(runtime) {}
  LockTaking(const LockTaking&) = delete;  // its session knows the plan

  /// Runs `command` under the locks, and releases them. With a null `command` it returns as soon as they are granted.
  /// With --if-unavailable=run and no store that can be reached, `command` runs without a lock. How it went, also that
  /// the locks were busy, is in state(); an Error means that the plan does not fit the store (78), and that no lock was
  /// asked for.
  Result<void> take(LockedCommand* command, SignalInbox& signals);

  const LockPlan& plan() const { return plan_; }
  const SupervisorState& state() const { return state_; }
  TimePoint started() const { return started_; }      ///< when the first store was asked
  const Store& store() const { return store_; }       ///< the one that was asked last
  LockSession& session() const { return *session_; }  ///< holds the locks; REQUIRES: the outcome is kGranted

  /// For a lock that was not granted, or was lost before anything ran: says why on stderr, and returns the exit status.
  /// If a signal ended the wait, this process dies of that signal instead. REQUIRES: the outcome is kRefused, kLost,
  /// kOverheld or kInterrupted.
  int explain() const;

 private:
  class Watchers;
  Log log_about_store() const;
  std::optional<int> tell_of_long_hold(const Log& log) const;
  int explain_busy(const Log& log) const;
  void supervise(LockedCommand* command, SignalInbox& signals, Watchers& watchers);

  const LockPlan plan_;
  const Runtime& runtime_;
  Store store_;
  std::unique_ptr<LockSession> session_;
  SupervisorState state_;
  TimePoint started_{};
};

}  // namespace dlock
