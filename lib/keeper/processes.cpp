// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/processes.h"

#include <unistd.h>

#include <cerrno>

#include "lib/base/system_error.h"
#include "lib/run/descendants.h"

namespace dlock {

Error no_such_process(pid_t pid) {
  return {ErrorCode::kInvalid, "there is no process " + std::to_string(pid) + " to watch"};
}

Result<UniqueFd> SystemProcesses::watch(pid_t pid) {
  UniqueFd pidfd = open_process(pid);
  if (!pidfd.valid() && errno != ESRCH) return system_error("cannot watch process " + std::to_string(pid), errno);
  return pidfd;
}

std::optional<std::vector<ProcessId>> SystemProcesses::below(const UniqueFd& pidfd) {
  const pid_t pid = proc_shows_us() ? pid_of(pidfd) : 0;
  if (pid <= 0) return std::nullopt;
  return descendants_of(pid);
}

bool SystemProcesses::signal(const ProcessId& process, int number) {
  return signal_process(process, number) || errno != EPERM;
}

void SystemProcesses::signal_by(const UniqueFd& pidfd, int number) { signal_process(pidfd, number); }

void SystemProcesses::close_streams() { dup2(STDIN_FILENO, STDERR_FILENO); }  // /dev/null

}  // namespace dlock
