// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <functional>
#include <optional>
#include <variant>
#include <vector>

#include "lib/base/runtime.h"
#include "lib/base/time.h"
#include "lib/lock/lock_session.h"
#include "lib/run/signal_inbox.h"
#include "lib/run/supervisor.h"

namespace dlock {

/// Data that a command needs at its start.
struct StartContext {
  const std::vector<HeldLock>& locks;
  std::optional<WallTime> deadline;  ///< of the lease, as it is now; nullopt: the hold needs no renewal
  std::vector<int> inherit;          ///< descriptors that it should keep open
  std::vector<pid_t> keepers;        ///< children of ours that are none of the command's processes
  /// To be called once, where there are keepers: before anything runs under the lock.
  std::function<void(const GuardHandles&)> tell_keepers;
};

/// The work under the lock: a child process (child_process.h), or anything else that starts, can be asked to end, and
/// ends. The defaults are those of work without a process.
class LockedCommand {
 public:
  virtual ~LockedCommand() = default;

  /// Starts the command; returns CommandStarted or CommandNotStarted.
  virtual SupervisorEvent start(const StartContext& context) = 0;

  /// Its process id once started, 0 if it has none.
  virtual pid_t pid() const { return 0; }

  /// Adds descriptors that announce its end besides SIGCHLD.
  virtual void add_interest(std::vector<pollfd>& /*fds*/) const {}

  /// Its end, returned once. Does not block.
  virtual std::optional<CommandEnded> ended() { return std::nullopt; }

  /// Whether it has stopped by itself, and a shell waits at a terminal for us as well; true once, after ended().
  virtual bool stops_the_job() { return false; }
  /// We have been stopped, and are continued: stops of it from before are over.
  virtual void continued() {}

  virtual void signal(int /*number*/) {}       ///< to it alone
  virtual void signal_tree(int /*number*/) {}  ///< to it and everything that descends from it
  virtual bool tree_gone() { return true; }    ///< whether no descendant is alive. REQUIRES: it has ended
  virtual void end_guard() {}                  ///< comes last: processes that are left of it stay

  /// Whether `sender`, which has sent us a signal, is the command or descends from it.
  virtual bool sent_by_it(pid_t /*sender*/) const { return false; }
  /// Whether a terminal's signals reach it as they reach us.
  virtual bool is_in_our_group() const { return true; }
};

/// Reports to people. Every call returns at once.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  /// Another store is asked now. `server`: its redacted URL if it is a server, else empty.
  virtual void asks(const std::string& /*server*/) {}
  /// Called after every wait while the lock is being waited for; true = ask the session whom we wait for.
  virtual bool waiting(TimePoint /*now*/) { return false; }
  virtual void told_who(const LockState& /*state*/, TimePoint /*now*/) {}
  /// While the lock is waited for: the store could not be reached for a while; and then it answers again.
  virtual void unreached(const std::string& /*why*/, TimePoint /*now*/) {}
  virtual void reached() {}
  /// When waiting() wants to be called again.
  virtual std::optional<TimePoint> wake_at() const { return std::nullopt; }
  /// The waiting is over, with whatever result, or given up; what stands on the terminal is wiped. More than once when
  /// something went wrong.
  virtual void waited() {}
  /// The lock is ours; nothing has been started under it yet.
  virtual void granted(const SupervisorState& /*s*/) {}
  /// Now something has been: `command` is its process, 0 if it has none.
  virtual void started(pid_t /*command*/) {}
  /// A renewal was not confirmed. It is asked for again. Not reported once the lock is lost.
  virtual void unrenewed(const std::string& /*why*/) {}
  /// The command has been sent this signal: alone, or with all its descendants.
  virtual void signalled(int /*signal*/, const SupervisorState& /*s*/) {}
  /// Warning of the store about a lock that it has granted.
  virtual void warned(const std::string& /*warning*/) {}
  virtual void lost(const SupervisorState& /*s*/, pid_t /*command*/) {}
  /// The lock has been held for as long as the policy allows, and the command is being ended.
  virtual void overheld(const SupervisorState& /*s*/, pid_t /*command*/) {}
  virtual void release_unconfirmed(const std::string& /*why*/, const SupervisorState& /*s*/) {}
};

/// The supervisor's body: one thread, one poll loop. Takes the lock through `session`, runs `command` under it, keeps
/// to the deadlines that the session names, ends the command and all its descendants when the lock is lost, gives the
/// lock back. Returns when all that is over; the returned state is in Phase::kDone.
SupervisorState run_locked(Clock& clock, const SupervisionPolicy& policy, LockSession& session, LockedCommand& command,
                           SignalInbox& signals, RunObserver& observer);

}  // namespace dlock
