// SPDX-License-Identifier: Apache-2.0
#include "backends/local/files/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace dlock::local {
namespace {

// <sys/pidfd.h> of glibc 2.36 lacks its extern "C".
constexpr int kWaitPidfd = 3;  // P_PIDFD

}  // namespace

UniqueFd open_process(pid_t pid) { return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))); }

void signal_process(const UniqueFd& process, int signal) {
  if (process.valid()) syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0);
}

void reap(const UniqueFd& process, bool block) {
  if (!process.valid()) return;
  siginfo_t info;
  while (waitid(static_cast<idtype_t>(kWaitPidfd), static_cast<id_t>(process.get()), &info,
                WEXITED | (block ? 0 : WNOHANG)) != 0 &&
         errno == EINTR) {
  }
}

void close_all_but(std::initializer_list<int> keep) {
  int last = -1;
  for (;;) {
    int next = -1;  // the lowest one to keep above `last`
    for (const int fd : keep) {
      if (fd > last && (next < 0 || fd < next)) next = fd;
    }
    const auto first = static_cast<unsigned>(last + 1);
    if (next < 0) {
      syscall(SYS_close_range, first, ~0U, 0);
      return;
    }
    if (next > last + 1) syscall(SYS_close_range, first, static_cast<unsigned>(next - 1), 0);
    last = next;
  }
}

bool die_with(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  return getppid() == parent;  // it may have died before the prctl
}

std::optional<ProcessInfo> process_info(pid_t pid) {
  char path[40];
  std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(pid));
  const UniqueFd file(open(path, O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  char text[1024];
  const ssize_t n = read(file.get(), text, sizeof text - 1);
  if (n <= 0) return std::nullopt;
  text[n] = '\0';
  // pid (name) state ...: the name may contain anything, so start behind its last parenthesis. Field 22 = start time.
  const char* at = std::strrchr(text, ')');
  if (!at || at[1] != ' ') return std::nullopt;
  ProcessInfo info;
  info.state = at[2];
  at += 2;
  for (int field = 3; field < 22 && at; ++field) {
    at = std::strchr(at, ' ');
    if (at) ++at;
  }
  if (!at) return std::nullopt;
  const long ticks = sysconf(_SC_CLK_TCK);
  info.started_ns = std::strtoll(at, nullptr, 10) * (1'000'000'000LL / (ticks > 0 ? ticks : 100));
  return info;
}

std::uint64_t pid_namespace() {
  struct stat st {};
  return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

}  // namespace dlock::local
