// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/log.h"
#include "lib/base/result.h"
#include "lib/run/command_guard.h"
#include "lib/run/descendants.h"
#include "lib/run/run_locked.h"
#include "lib/run/signal_inbox.h"

namespace dlock {

/// A program found before the lock is taken.
struct Program {
  std::string path;     ///< for execve
  int exit_status = 0;  ///< 0: fit to be tried; else 126 or 127, and `why`
  std::string why;      ///< the whole message
};

/// Looks `name` up as execvp(3) does: with a slash it is the path itself, else along `search` (the value of PATH; the
/// system's default when null). 127: not there. 126: there, but not executable, or a directory.
Program find_program(std::string_view name, const char* search);

/// The DLOCK_* variables of a command (dlock(1), ENVIRONMENT) as NAME=value; none without a lock. DLOCK_DEADLINE is
/// empty without a deadline, so that no command takes that of a hold further out for it.
std::vector<std::string> lock_variables(char** environment, const std::vector<HeldLock>& locks,
                                        std::optional<WallTime> deadline);

/// `environment` with the variables of `set` in the place of its own, as execve(2) takes it. Points into both.
std::vector<char*> merged_environment(char** environment, const std::vector<std::string>& set);

/// A child process in our own process group: pipelines, shells and ^Z treat it as they would treat it without us. It
/// gets back the signals as dlock got them, dies of SIGKILL when this process dies (PR_SET_PDEATHSIG), and is started
/// by vfork, whose child shares nothing with us after its execve. Everything it starts stays below us
/// (PR_SET_CHILD_SUBREAPER). Where keepers may have to end it, its parent is a CommandGuard instead. REQUIRES: one
/// thread only; SIGCHLD not ignored.
class ChildProcess final : public LockedCommand {
 public:
  struct Spec {
    Program program;
    std::vector<char*> arguments;  ///< with the closing null; must outlive the object
    char** environment;            ///< as dlock got it; the command's has DLOCK_* besides
    InheritedSignals signals;
    const Log& log;
    std::vector<std::string> variables = {};  ///< NAME=value, for the command besides
    bool keep_descriptors = false;            ///< -o: the command inherits none of the lock's descriptors
    std::vector<ProcessId> others = {};       ///< children of ours from before dlock was executed: not the command's
  };

  explicit ChildProcess(Spec spec) : spec_(std::move(spec)) {}

  SupervisorEvent start(const StartContext& context) override;
  pid_t pid() const override { return pid_; }
  void add_interest(std::vector<pollfd>& fds) const override;  // without a guard there is SIGCHLD
  std::optional<CommandEnded> ended() override;
  bool stops_the_job() override;
  void continued() override;
  void signal(int number) override;
  void signal_tree(int number) override;
  bool tree_gone() override;
  void end_guard() override;
  bool sent_by_it(pid_t sender) const override;
  bool is_in_our_group() const override;

 private:
  void prepare(const StartContext& context);
  Result<Spawned> start_guarded(const StartContext& context);
  Spawned spawn() const;
  std::vector<ProcessId> tree() const;
  void signal_descendant(const ProcessId& process, int number);
  bool reap();
  void hear_guard();
  void take(int wait_status);

  Spec spec_;
  std::vector<std::string> own_;    ///< NAME=value, in the place of those of the environment
  std::vector<char*> environment_;  ///< points into both
  std::vector<char*> by_shell_;     ///< a script without "#!" line is run by the shell, as execvp(3) does
  std::vector<int> inherit_;
  pid_t pid_ = 0;
  bool alive_ = false;
  int stopped_by_ = 0;                 ///< the signal; not reported yet
  std::optional<CommandEnded> end_;    ///< not reported yet
  std::optional<CommandGuard> guard_;  ///< while it lives
  bool guard_killed_ = false;          ///< before it told how the command ended
  std::vector<pid_t> keepers_;
  bool said_denied_ = false;
  bool said_unseen_ = false;
};

}  // namespace dlock
