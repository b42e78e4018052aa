// SPDX-License-Identifier: Apache-2.0
#include "lib/run/signal_inbox.h"

#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "lib/base/system_error.h"

namespace dlock {
namespace {

/// Not ours to read: uncatchable ones, faults of our own, and the stops of background terminal access.
bool stays_with_the_kernel(int signal) {
  constexpr int kThese[] = {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGTTIN, SIGTTOU};
  return std::ranges::count(kThese, signal) > 0;
}

/// Of what the kernel sends: a timer, say, that was set before this program was executed has no other process.
bool has_whole_group(int signal) {
  if (signal == SIGHUP)
    return getsid(0) != getpid();  // a terminal that is gone signals the leader of its session alone
  constexpr int kThese[] = {SIGINT, SIGQUIT, SIGTSTP, SIGWINCH, SIGCONT};
  return std::ranges::count(kThese, signal) > 0;
}

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

bool is_harmless(int signal) {
  return signal == SIGCHLD || signal == SIGURG || signal == SIGWINCH || signal == SIGCONT;
}

bool is_an_end(int signal) { return signal == SIGHUP || signal == SIGINT || signal == SIGQUIT || signal == SIGTERM; }

bool heed_children() {
  static bool was_ignored = false;
  if (is_ignored(SIGCHLD)) {
    was_ignored = true;
    signal(SIGCHLD, SIG_DFL);
  }
  return was_ignored;
}

Result<ProcessSignals> ProcessSignals::open() {
  ProcessSignals inbox;
  sigset_t wanted;
  sigfillset(&wanted);
  for (int signal = 1; signal < SIGRTMIN; ++signal) {
    if (stays_with_the_kernel(signal)) {
      sigdelset(&wanted, signal);
    } else if (signal != SIGPIPE && signal != SIGCHLD && is_ignored(signal)) {
      sigdelset(&wanted, signal);  // stays ignored: a blocked signal would arrive even so
    }
  }
  inbox.inherited_.ignored_child = heed_children();
  // A message from the background to a terminal with "stty tostop", that a lock is lost, say, is not stopped by
  // it: that would keep the command from being ended.
  sigset_t blocked = wanted;
  sigaddset(&blocked, SIGTTOU);
  sigprocmask(SIG_BLOCK, &blocked, &inbox.inherited_.mask);
  inbox.fd_ = UniqueFd(signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!inbox.fd_.valid()) return system_error("cannot make a signal descriptor", errno);
  return inbox;
}

std::optional<ReceivedSignal> ProcessSignals::next() {
  signalfd_siginfo info;
  while (read(fd_.get(), &info, sizeof info) == sizeof info) {
    const auto sender = static_cast<pid_t>(info.ssi_pid);
    const auto number = static_cast<int>(info.ssi_signo);
    // A dead stderr, or a file that may not grow, must not end us.
    if ((number == SIGPIPE || number == SIGXFSZ) && sender == getpid()) continue;
    return ReceivedSignal{number, sender, info.ssi_code == SI_KERNEL && has_whole_group(number)};
  }
  return std::nullopt;
}

void stop_self() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  raise(SIGTSTP);  // pending until unblocked; in an orphaned process group the kernel drops it, as it should
  sigprocmask(SIG_UNBLOCK, &stop, nullptr);
  sigprocmask(SIG_BLOCK, &stop, nullptr);
}

void die_of(int signal) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  ::signal(signal, SIG_DFL);
  sigset_t all;
  sigemptyset(&all);
  sigaddset(&all, signal);
  raise(signal);
  sigprocmask(SIG_UNBLOCK, &all, nullptr);
  _exit(128 + signal);
}

}  // namespace dlock
