// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <optional>
#include <variant>
#include <vector>

#include "lib/base/time.h"
#include "lib/lock/lock_session.h"
#include "lib/run/supervisor.h"

namespace dlock {

/// Data that a command needs at its start.
struct StartContext {
  const std::vector<HeldLock>& locks;
  std::optional<WallTime> deadline;  ///< of the lease, as it is now; nullopt: the hold needs no renewal
  std::vector<int> inherit;          ///< descriptors that it should keep open
  std::vector<pid_t> keepers;        ///< children of ours that are none of the command's processes
};

/// The work under the lock: a child process (child_process.h), or anything else that starts, can be asked to end, and
/// ends.
class LockedCommand {
 public:
  virtual ~LockedCommand() = default;

  /// Starts the command; returns CommandStarted or CommandNotStarted.
  virtual SupervisorEvent start(const StartContext& context) = 0;

  /// Once started: a pidfd of the process that ends when the command and everything that descends from it have ended,
  /// and not before; -1: there is none. keepers_know(): they have been given it.
  virtual int guard() const { return -1; }
  virtual void keepers_know() {}

  /// Its process id once started, 0 if it has none.
  virtual pid_t pid() const = 0;

  /// Adds descriptors that announce its end besides SIGCHLD.
  virtual void add_interest(std::vector<pollfd>& fds) const = 0;

  /// The wait status after its end, returned once. Does not block.
  virtual std::optional<int> ended() = 0;

  /// Whether it has stopped by itself, and a shell waits at a terminal for us as well; true once, after ended().
  virtual bool stops_the_job() { return false; }

  virtual void signal(int number) = 0;       ///< to it alone
  virtual void signal_tree(int number) = 0;  ///< to it and everything that descends from it
  virtual bool tree_gone() = 0;              ///< whether no descendant is alive. REQUIRES: it has ended
  virtual void let_go() {}                   ///< comes last: processes that are left of it stay

  /// Whether `sender`, which has sent us a signal, is the command or descends from it.
  virtual bool sent_by_it(pid_t sender) const = 0;
};

}  // namespace dlock
