// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <optional>
#include <string>
#include <vector>

#include "lib/base/time.h"
#include "lib/base/unique_fd.h"
#include "lib/keeper/processes.h"

namespace dlock {

/// Ends what is left of a command whose supervisor does not: TERM to each process once, KILL after kill_after, again
/// and again until nothing is left. What may not be signalled is waited for. Single-threaded; the caller runs the loop:
/// step(); until gone(), wait for add_interest() or wake_at().
class Orphans {
 public:
  /// `command`: the command's own process, {} if it has ended or /proc does not show it; `pidfd`: of that process.
  Orphans(Processes& processes, const ProcessId& command, const UniqueFd& pidfd, CommandMarks marks, TimePoint now,
          Duration kill_after);

  /// Looks for the processes that are left, and sends the signals that are due. From `last` on, KILL does not wait for
  /// kill_after.
  void step(TimePoint now, std::optional<TimePoint> last);

  bool gone() const { return empty_looks_ >= kEmptyLooks; }
  TimePoint kills_at(std::optional<TimePoint> last) const { return *earlier(kill_at_, last); }
  /// A process that is left and may not be signalled, if there is one.
  std::optional<pid_t> untouchable() const { return untouchable_; }
  void add_interest(std::vector<pollfd>& fds) const;
  TimePoint wake_at(std::optional<TimePoint> last) const;

 private:
  /// A process that forks or executes while it is looked at can be missed once.
  static constexpr int kEmptyLooks = 2;
  struct Orphan {
    ProcessId id;
    UniqueFd watch;
    bool watched = false;  ///< else nothing tells of its end, and the next look must
  };

  bool search_is_due(TimePoint now) const;
  void search(TimePoint now);
  void send(const ProcessId& process);
  bool end_unseen();

  Processes& processes_;
  const ProcessId command_;
  const UniqueFd& pidfd_;
  const CommandMarks marks_;
  const TimePoint kill_at_;
  bool killing_ = false;
  bool told_unseen_ = false;
  int empty_looks_ = 0;
  Duration pause_;
  TimePoint next_search_;
  std::vector<Orphan> orphans_;
  std::optional<pid_t> untouchable_;
};

}  // namespace dlock
