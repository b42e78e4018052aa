// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <functional>
#include <optional>
#include <vector>

#include "lib/base/process.h"
#include "lib/base/result.h"
#include "lib/base/unique_fd.h"
#include "lib/lock/lock_session.h"

namespace dlock {

/// A started command: its pid, -1 if there could be no process; the errno value that says why it does not run, or 0.
struct Spawned {
  pid_t pid = -1;
  int failure = 0;
};

/// The process between a supervisor and a command under a lock on a server, so that nothing of the command gets lost
/// when the supervisor is killed: every orphan below it becomes its child (PR_SET_CHILD_SUBREAPER), and it says
/// farewell and ends when nothing is left there. It is in a session of its own, where no terminal and no signal to the
/// job reaches it; does not show the command line of dlock, by which people choose whom they kill; passes the signals
/// that it is sent on to the command; says farewell at once where the command cannot be started; and kills everything
/// below it once the supervisor is gone and a keeper is, too. If it is killed itself, the kernel kills the command
/// (PR_SET_PDEATHSIG), and the rest becomes the supervisor's. The object is the supervisor's end. REQUIRES: one thread
/// only; a supervisor that is a subreaper.
class CommandGuard {
 public:
  /// Forks it, gives `tell` its handles, and only then has it call `spawn`: a command never runs of which its keepers
  /// do not know. `keepers`: the processes that end the command when we do not.
  static Result<CommandGuard> start(const std::vector<pid_t>& keepers, const std::function<Spawned()>& spawn,
                                    const std::function<void(const GuardHandles&)>& tell);

  const Spawned& spawned() const { return spawned_; }
  pid_t pid() const { return pid_; }
  GuardHandles handles() const { return {pidfd_.get(), farewell_.get()}; }
  int reports() const { return socket_.get(); }  ///< to be polled for wait_status()

  /// Results of waitpid(2) for the command since the last call, stops included, if not too many. Does not block.
  std::optional<int> wait_status();
  /// To the command, at once: not by the guard, which runs when the scheduler lets it.
  void signal(int number) { signal_process(command_, number); }
  /// Ends and reaps it: processes that are left below it have no guard any more.
  void end();

 private:
  CommandGuard(UniqueFd socket, UniqueFd farewell, pid_t pid)
      : socket_(std::move(socket)), farewell_(std::move(farewell)), pidfd_(open_process(pid)), pid_(pid) {}

  bool hear_spawned();

  UniqueFd socket_;
  UniqueFd farewell_;
  UniqueFd pidfd_;
  UniqueFd command_;  ///< its pidfd
  pid_t pid_;
  Spawned spawned_{-1, EPIPE};
};

}  // namespace dlock
