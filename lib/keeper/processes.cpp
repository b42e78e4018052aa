// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/processes.h"

#include <unistd.h>

#include <cerrno>

#include "lib/base/system_error.h"

namespace dlock {

Result<UniqueFd> SystemProcesses::watch(pid_t pid) {
  UniqueFd pidfd = open_process(pid);
  if (!pidfd.valid() && errno != ESRCH) return system_error("cannot watch process " + std::to_string(pid), errno);
  return pidfd;
}

FoundProcess SystemProcesses::find(const UniqueFd& pidfd) {
  const pid_t pid = pid_of(pidfd);
  const auto stat = pid > 0 ? look_up_process(pid) : std::nullopt;
  // Looked at while the descriptor still pinned it: the pid was nobody else's.
  return stat && !has_ended(pidfd) ? FoundProcess{stat->id, stat->session} : FoundProcess{};
}

std::vector<ProcessId> SystemProcesses::remaining(const std::vector<ProcessId>& roots, const CommandMarks& marks) {
  return remaining_processes(roots, marks);
}

bool SystemProcesses::signal(const ProcessId& process, int number) {
  return signal_process(process, number) || errno != EPERM;
}

bool SystemProcesses::signal_by(const UniqueFd& pidfd, int number) {
  if (has_ended(pidfd)) return false;
  signal_process(pidfd, number);
  return true;
}

void SystemProcesses::close_streams() { dup2(STDIN_FILENO, STDERR_FILENO); }  // /dev/null

}  // namespace dlock
