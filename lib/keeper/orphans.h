// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <optional>
#include <string>
#include <vector>

#include "lib/base/process.h"
#include "lib/base/result.h"
#include "lib/base/time.h"
#include "lib/base/unique_fd.h"

namespace dlock {

/// A process and its descendants.
using Family = std::vector<ProcessId>;

/// The processes of this machine, as a keeper looks at them.
class Processes {
 public:
  virtual ~Processes() = default;

  /// A pidfd, readable once the process has ended; none if it has ended already. An Error if it cannot be
  /// watched.
  virtual Result<UniqueFd> watch(pid_t pid) = 0;

  /// Descendants of the process of `pidfd`: descendants_of() (lib/run/descendants.h). Nullopt where /proc
  /// does not show it.
  virtual std::optional<std::vector<ProcessId>> below(const UniqueFd& pidfd) = 0;

  /// The living processes that a killed guard may have left to whoever adopts our own orphaned siblings: of each child
  /// of that process which is not older than the guard, the child and its descendants. Nullopt where /proc does not
  /// show us.
  virtual std::optional<std::vector<Family>> adopted(const ProcessId& guard) = 0;

  /// Whether it was started with this owner in its environment.
  virtual bool knows(const ProcessId& process, const std::string& owner) = 0;

  /// Process id and start time; nullopt where /proc does not show it.
  virtual std::optional<ProcessId> identify(const UniqueFd& pidfd) = 0;

  /// False if it lives and may not be signalled.
  virtual bool signal(const ProcessId& process, int number) = 0;

  /// Signals the process that `pidfd` is of, also where /proc does not show it.
  virtual void signal_by(const UniqueFd& pidfd, int number) = 0;

  /// Closes the inherited streams of the supervisor, so that their readers see an end.
  virtual void close_streams() = 0;
};

/// Invalid: --watch-pid names a process that has ended.
Error no_such_process(pid_t pid);

class SystemProcesses final : public Processes {
 public:
  Result<UniqueFd> watch(pid_t pid) override;
  std::optional<std::vector<ProcessId>> below(const UniqueFd& pidfd) override;
  std::optional<std::vector<Family>> adopted(const ProcessId& guard) override;
  bool knows(const ProcessId& process, const std::string& owner) override;
  std::optional<ProcessId> identify(const UniqueFd& pidfd) override;
  bool signal(const ProcessId& process, int number) override;
  void signal_by(const UniqueFd& pidfd, int number) override;
  void close_streams() override;
};

/// The keeper's hold on the guard of a command (GuardHandles).
struct Guard {
  UniqueFd process;
  UniqueFd farewell;
};

/// A command while its supervisor lives. What is below its guard is looked up from time to time, so that it is known if
/// both are killed at once.
class WatchedCommand {
 public:
  /// `pause`: between two looks; the first ones follow each other sooner.
  WatchedCommand(Processes& processes, Guard guard, TimePoint now, Duration pause);

  /// Looks when that is due.
  void step(TimePoint now);
  TimePoint wake_at() const { return next_look_; }

  const UniqueFd& guard() const { return guard_.process; }
  const ProcessId& guard_id() const { return id_; }
  /// Whether the guard has said that nothing is left.
  bool is_over() const;
  const std::vector<ProcessId>& known() const { return known_; }

 private:
  Processes& processes_;
  Guard guard_;
  ProcessId id_;
  const Duration longest_pause_;
  Duration pause_;
  TimePoint next_look_;
  std::vector<ProcessId> known_;
};

/// Ends what is left of a command whose supervisor does not: TERM to each process below the command's guard
/// (lib/run/command_guard.h) once, each before what it has started; KILL after kill_after, again and again until the
/// guard has said that nothing is left. What may not be signalled is waited for.
///
/// A guard that ends without that word was killed. Its orphans are with some other process then, among strangers: those
/// are ended that were seen below it before, or know the owner, and what descends from them; others may be the
/// command's, and are waited for until a lease has gone by. Single-threaded; the caller runs the loop: step(); until
/// gone(), wait for add_interest() or wake_at().
class Orphans {
 public:
  struct Spec {
    Duration kill_after;
    Duration lease;     ///< as long as it is, what may be left is waited for
    std::string owner;  ///< known to the command and to no other process; empty: to others as well
    /// For a run inside: its orphans are adopted below the guard of the outermost one.
    const std::optional<WatchedCommand>* outer = nullptr;
  };
  Orphans(Processes& processes, const WatchedCommand& command, TimePoint now, Spec spec);

  /// Looks for the processes that are left, and sends the signals that are due. From `last` on, KILL does not wait for
  /// kill_after.
  void step(TimePoint now, std::optional<TimePoint> last);

  bool gone() const { return gone_; }
  TimePoint kills_at(std::optional<TimePoint> last) const { return *earlier(kill_at_, last); }
  /// A process that is left and may not be signalled, if there is one.
  std::optional<pid_t> untouchable() const { return untouchable_; }
  void add_interest(std::vector<pollfd>& fds) const;
  TimePoint wake_at(std::optional<TimePoint> last) const;

 private:
  void search(TimePoint now);
  bool look(TimePoint now);
  std::optional<std::vector<ProcessId>> find_left(TimePoint now);
  std::optional<std::vector<ProcessId>> find_adopted(TimePoint now);
  std::optional<std::vector<Family>> candidates();
  bool is_ours(const Family& family);
  bool is_known(const ProcessId& process) const;
  void end_unseen();
  void send(const ProcessId& process);

  Processes& processes_;
  const WatchedCommand& command_;
  const Spec spec_;
  const TimePoint kill_at_;
  bool gone_ = false;
  bool killing_ = false;
  bool told_unseen_ = false;
  std::optional<TimePoint> killed_at_;  ///< the guard: when that was seen
  Duration pause_;
  TimePoint next_search_;
  std::vector<ProcessId> known_;  ///< to be the command's
  std::vector<ProcessId> told_;   ///< that have had their signal
  std::optional<pid_t> untouchable_;
};

}  // namespace dlock
