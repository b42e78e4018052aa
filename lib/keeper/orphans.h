// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <optional>
#include <vector>

#include "lib/base/time.h"
#include "lib/base/unique_fd.h"
#include "lib/keeper/processes.h"

namespace dlock {

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
