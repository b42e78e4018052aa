// SPDX-License-Identifier: Apache-2.0
#include "backends/local/waiting_child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>

#include "backends/local/files/byte_locks.h"
#include "backends/local/files/process.h"
#include "lib/base/process.h"
#include "lib/base/system_error.h"

namespace dlock::local {
namespace {

/// The whole life of the child. Nothing but system calls: we may be forked from any state of the heap.
[[noreturn]] void wait_and_tell(pid_t parent, int fd, const std::vector<Range>& ranges, int operation, int result) {
  if (!die_with(parent)) _exit(1);
  close_all_but({fd, result});
  prctl(PR_SET_NAME, "dlock-wait");
  int failed = 0;
  for (const Range& range : ranges) {
    if (failed == 0) failed = wait_for_bytes(fd, range);
  }
  if (operation != 0) {
    while (flock(fd, operation) != 0) {
      if (errno == EINTR) continue;
      failed = errno;
      break;
    }
  }
  write_byte(result, static_cast<unsigned char>(failed));
  _exit(0);
}

}  // namespace

Result<WaitingChild> WaitingChild::for_bytes(int fd, std::vector<Range> ranges) { return start(fd, ranges, 0); }

Result<WaitingChild> WaitingChild::for_flock(int fd, int operation) { return start(fd, {}, operation); }

Result<WaitingChild> WaitingChild::start(int fd, const std::vector<Range>& ranges, int flock_operation) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return system_error("cannot wait for the lock: pipe", errno);
  WaitingChild waiter;
  waiter.result_ = UniqueFd(ends[0]);
  const UniqueFd child_end(ends[1]);
  const pid_t self = getpid();
  waiter.pid_ = fork();
  if (waiter.pid_ < 0) return system_error("cannot wait for the lock: fork", errno);
  if (waiter.pid_ == 0) wait_and_tell(self, fd, ranges, flock_operation, child_end.get());
  // No other code has run since the fork, so the pid is still the child's, or unused if SIGCHLD is ignored.
  waiter.process_ = open_process(waiter.pid_);
  if (!waiter.process_.valid() && errno != ESRCH) {
    const int failed = errno;
    kill(waiter.pid_, SIGKILL);
    return system_error("cannot wait for the lock: pidfd_open", failed);
  }
  return waiter;
}

WaitingChild& WaitingChild::operator=(WaitingChild&& other) noexcept {
  if (this != &other) {
    stop();
    result_ = std::move(other.result_);
    process_ = std::move(other.process_);
    pid_ = other.pid_;
  }
  return *this;
}

std::optional<int> WaitingChild::result() {
  unsigned char byte = 0;
  const ssize_t n = read(result_.get(), &byte, 1);
  if (n == 1) return byte;
  if (n == 0) return ECHILD;
  if (errno == EAGAIN || errno == EINTR) return std::nullopt;
  return errno;
}

void WaitingChild::go_on() {
  if (process_.valid()) signal_process(process_, SIGCONT);
}

void WaitingChild::reap() { dlock::local::reap(process_, false); }

void WaitingChild::stop() {
  if (process_.valid()) signal_process(process_, SIGKILL);
  dlock::local::reap(process_, true);
  process_.reset();
  result_.reset();
}

}  // namespace dlock::local
