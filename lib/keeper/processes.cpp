// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/processes.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <string_view>

#include "lib/base/system_error.h"

namespace dlock {
namespace {

/// 0 or less: of no process, or of one that has been reaped.
pid_t pid_of(const UniqueFd& pidfd) {
  if (!pidfd.valid()) return 0;
  const std::string path = "/proc/self/fdinfo/" + std::to_string(pidfd.get());
  const UniqueFd info(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[512];
  const ssize_t size = info.valid() ? read(info.get(), text, sizeof text) : 0;
  const std::string_view all(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  constexpr std::string_view kName = "\nPid:\t";
  const std::size_t at = all.find(kName);
  pid_t pid = 0;
  if (at != std::string_view::npos) std::from_chars(all.data() + at + kName.size(), all.data() + all.size(), pid);
  return pid;
}

}  // namespace

Result<UniqueFd> SystemProcesses::watch(pid_t pid) {
  UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
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

void SystemProcesses::close_streams() { dup2(STDIN_FILENO, STDERR_FILENO); }  // /dev/null

bool has_ended(const UniqueFd& watch) {
  if (!watch.valid()) return true;
  pollfd fd{watch.get(), POLLIN, 0};
  return poll(&fd, 1, 0) == 1;
}

}  // namespace dlock
