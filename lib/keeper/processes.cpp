// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/processes.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "lib/base/system_error.h"

namespace dlock {

Result<UniqueFd> SystemProcesses::watch(pid_t pid) {
  UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.valid() && errno != ESRCH) return system_error("cannot watch process " + std::to_string(pid), errno);
  return pidfd;
}

ProcessId SystemProcesses::command(pid_t pid, const std::string& owner) {
  const auto stat = look_up_process(pid);
  const bool ours = stat && (stat->parent == getppid() || started_under(pid, owner));
  return ours ? stat->id : ProcessId{};
}

std::vector<ProcessId> SystemProcesses::remaining(const std::vector<ProcessId>& roots, const std::string& owner) {
  return remaining_processes(roots, owner);
}

void SystemProcesses::signal(const ProcessId& process, int number) { signal_process(process, number); }

void SystemProcesses::close_streams() { dup2(STDIN_FILENO, STDERR_FILENO); }  // /dev/null

bool has_ended(const UniqueFd& watch) {
  if (!watch.valid()) return true;
  pollfd fd{watch.get(), POLLIN, 0};
  return poll(&fd, 1, 0) == 1;
}

}  // namespace dlock
