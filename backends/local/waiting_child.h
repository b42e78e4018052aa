// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include "backends/local/files/rules.h"
#include "lib/base/result.h"
#include "lib/base/unique_fd.h"

namespace dlock::local {

/// A small child process that waits in the kernel on our behalf, because a lock can be waited for only by blocking. It
/// shares our open file description, so what it is granted is ours. It dies with us (PR_SET_PDEATHSIG), keeps no other
/// descriptor, runs nothing but system calls, and says its result through a pipe: its exit status may go to whoever
/// reaps all children.
class WaitingChild {
 public:
  /// Waits for each range in turn to be free of write locks (see wait_for_bytes()).
  static Result<WaitingChild> for_bytes(int fd, std::vector<Range> ranges);
  /// Waits for flock(2) with LOCK_SH or LOCK_EX.
  static Result<WaitingChild> for_flock(int fd, int operation);

  WaitingChild(WaitingChild&&) = default;
  WaitingChild& operator=(WaitingChild&& other) noexcept;
  ~WaitingChild() { stop(); }

  /// Readable when there is a result().
  int fd() const { return result_.get(); }
  /// 0: granted; else the errno of the failure, ECHILD if it was killed; nullopt: still waiting.
  std::optional<int> result();
  /// Continues it if it was stopped: with our process group, say, of which only we were continued.
  void go_on();
  /// Ends it, and returns only when it is gone, so that it can be granted nothing any more.
  void stop();
  /// After a result: the child is on its way out; collects it if it is gone already.
  void reap();
  pid_t pid() const { return pid_; }

 private:
  WaitingChild() = default;
  static Result<WaitingChild> start(int fd, const std::vector<Range>& ranges, int flock_operation);

  UniqueFd result_;
  UniqueFd process_;  ///< pidfd: the pid may be reaped and reused without our knowing
  pid_t pid_ = 0;
};

}  // namespace dlock::local
