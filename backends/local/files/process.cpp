// SPDX-License-Identifier: Apache-2.0
#include "backends/local/files/process.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace dlock::local {
namespace {

// <sys/pidfd.h> of glibc 2.36 lacks its extern "C".
constexpr int kWaitPidfd = 3;  // P_PIDFD

std::atomic<pid_t> known_pid{0};

}  // namespace

pid_t own_pid() {
  if (const pid_t known = known_pid; known != 0) return known;
  static const bool forgotten_by_children = pthread_atfork(nullptr, nullptr, [] { known_pid = 0; }) == 0;
  const pid_t pid = getpid();
  if (forgotten_by_children) known_pid = pid;
  return pid;
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

void write_byte(int fd, unsigned char byte) {
  while (write(fd, &byte, 1) < 0 && errno == EINTR) {
  }
}

std::uint64_t pid_namespace() {
  struct stat st {};
  return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

}  // namespace dlock::local
