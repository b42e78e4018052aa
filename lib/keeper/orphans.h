// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <optional>
#include <vector>

#include "lib/base/process.h"
#include "lib/base/result.h"
#include "lib/base/time.h"
#include "lib/base/unique_fd.h"

namespace dlock {

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
  bool signal(const ProcessId& process, int number) override;
  void signal_by(const UniqueFd& pidfd, int number) override;
  void close_streams() override;
};

/// Ends what is left of a command whose supervisor does not: TERM to each process below the command's guard
/// (lib/run/command_guard.h) once, KILL after kill_after, again and again until the guard has ended, which it does when
/// nothing is left below it. What may not be signalled is waited for. Single-threaded; the caller runs the loop:
/// step(); until gone(), wait for add_interest() or wake_at().
class Orphans {
 public:
  /// `guard`: its pidfd.
  Orphans(Processes& processes, const UniqueFd& guard, TimePoint now, Duration kill_after);

  /// Looks for the processes that are left, and sends the signals that are due. From `last` on, KILL does not wait for
  /// kill_after.
  void step(TimePoint now, std::optional<TimePoint> last);

  bool gone() const { return has_ended(guard_); }
  TimePoint kills_at(std::optional<TimePoint> last) const { return *earlier(kill_at_, last); }
  /// A process that is left and may not be signalled, if there is one.
  std::optional<pid_t> untouchable() const { return untouchable_; }
  void add_interest(std::vector<pollfd>& fds) const { fds.push_back({guard_.get(), POLLIN, 0}); }
  TimePoint wake_at(std::optional<TimePoint> last) const;

 private:
  void search(TimePoint now);
  void end_unseen();
  void send(const ProcessId& process);

  Processes& processes_;
  const UniqueFd& guard_;
  const TimePoint kill_at_;
  bool killing_ = false;
  bool told_unseen_ = false;
  Duration pause_;
  TimePoint next_search_;
  std::vector<ProcessId> known_;
  std::optional<pid_t> untouchable_;
};

}  // namespace dlock
