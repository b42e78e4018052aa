// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/options/options.h"
#include "cmd/show/progress.h"
#include "lib/history/event_log.h"
#include "lib/lock/lock_session.h"
#include "lib/lock/lock_spec.h"
#include "lib/lock/once_session.h"
#include "lib/run/supervisor.h"

namespace dlock {

/// How long to wait. The clock of a WaitPolicy starts when the store is asked.
struct WaitPlan {
  WaitPolicy policy;  ///< all but its end
  std::optional<Duration> most;

  WaitPolicy from(TimePoint now) const;
};
WaitPlan plan_wait(const Options& options);

/// Exit statuses where nothing was run, and when the holder is told of all the same.
struct BusyPlan {
  int status = 75;
  int repeated_status = 0;
  std::optional<WarnHeld> warn_held;
};

/// What is done by a command that takes locks: made once of its options, and carried instead of them.
struct LockPlan {
  std::vector<BackendUrl> stores;  ///< the next one is asked where the one before it cannot be reached
  std::vector<LockSpec> locks;  ///< one for each KEY, in canonical order; owner, wait and claim are those of a session
  WaitPlan wait;
  std::optional<OncePolicy> once;
  SupervisionPolicy supervision;
  bool run_if_unavailable = false;  ///< where no store can be reached
  std::vector<char*> command;       ///< as execve(2) takes it; empty: none. Points into the options, which outlive this
  std::optional<DetachSpec> lease;  ///< what acquire leaves behind
  EventPlace events;
  Telling telling;
  BusyPlan busy;
  std::string config_option;  ///< " -C FILE" for commands in advice, if it was typed

  /// It sells from a stock, instead of taking locks.
  bool sells() const { return locks.front().stock.has_value(); }
  bool tries_once() const { return wait.policy.once || locks.front().behind_nobody; }
};
/// REQUIRES: a command that takes locks, or waits for them.
LockPlan plan_locks(const Options& options);

/// CMD and its arguments, or the shell with -c STR, as execve(2) takes them; empty if there is none. Points into
/// `options`, which must outlive it.
std::vector<char*> command_line(const Options& options);

}  // namespace dlock
