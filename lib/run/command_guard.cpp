// SPDX-License-Identifier: Apache-2.0
#include "lib/run/command_guard.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "lib/base/packets.h"
#include "lib/base/process.h"
#include "lib/base/system_error.h"
#include "lib/run/descendants.h"

namespace dlock {
namespace {

constexpr int kKillAgainMs = 5;

void close_all_but(int one, int other) {
  const auto first = static_cast<unsigned>(std::min(one, other));
  const auto second = static_cast<unsigned>(std::max(one, other));
  if (first > 0) close_range(0, first - 1, 0);
  if (first + 1 < second) close_range(first + 1, second - 1, 0);
  close_range(second + 1, ~0U, 0);
}

/// Ours is a copy. Where /proc does not show how long it is, it stays.
void forget_command_line() {
  constexpr std::string_view kName = "dlock.guard";
  const std::size_t size = read_proc(getpid(), "cmdline").size();
  if (size <= kName.size()) return;
  std::memset(program_invocation_name, 0, size);
  kName.copy(program_invocation_name, kName.size());
}

class Watch {
 public:
  Watch(int supervisor, const std::vector<pid_t>& keepers, pid_t command) : supervisor_(supervisor), command_(command) {
    sigset_t all;
    sigfillset(&all);
    signals_ = UniqueFd(signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK));
    for (const pid_t keeper : keepers) keepers_.push_back(open_process(keeper));
  }

  void run() {
    while (reap()) {
      if (abandoned()) {
        for (const ProcessId& process : descendants_of(getpid())) signal_process(process, SIGKILL);
      }
      wait();
      pass_on_signals();
    }
  }

 private:
  /// False when nothing is left.
  bool reap() {
    int status = 0;
    pid_t pid = 0;
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
      if (pid != command_) continue;
      // A supervisor that is stopped may miss a stop, and never the end: that waits until it reads, or is gone.
      (void)send(supervisor_, &status, sizeof status, MSG_NOSIGNAL | (WIFSTOPPED(status) ? MSG_DONTWAIT : 0));
      if (!WIFSTOPPED(status)) command_ = 0;
    }
    return pid == 0 || errno != ECHILD;
  }

  /// Whether a lock is without a keeper that would end the command in time.
  bool abandoned() const {
    const auto over = [](const UniqueFd& keeper) { return has_ended(keeper); };
    return alone_ && std::any_of(keepers_.begin(), keepers_.end(), over);
  }

  /// The supervisor's end matters first, then that of a keeper.
  void wait() {
    std::vector<pollfd> fds = {{signals_.get(), POLLIN, 0}};
    if (!alone_) fds.push_back({supervisor_, 0, 0});
    const bool hurried = abandoned();
    for (const UniqueFd& keeper : keepers_) {
      if (alone_ && !hurried) fds.push_back({keeper.get(), POLLIN, 0});
    }
    (void)poll(fds.data(), fds.size(), hurried ? kKillAgainMs : -1);
    alone_ = alone_ || fds[1].revents != 0;
  }

  void pass_on_signals() {
    signalfd_siginfo info;
    while (read(signals_.get(), &info, sizeof info) == sizeof info) {
      const auto number = static_cast<int>(info.ssi_signo);
      const bool sent = info.ssi_code <= SI_USER;  // not what a terminal sent before we had a session of our own
      if (sent && number != SIGCHLD && command_ > 0) kill(command_, number);
    }
  }

  const int supervisor_;
  UniqueFd signals_;
  std::vector<UniqueFd> keepers_;
  pid_t command_;       ///< 0: reaped
  bool alone_ = false;  ///< the supervisor is gone
};

/// False: the supervisor was killed before it had told the keepers.
bool may_spawn(int supervisor) {
  pollfd word{supervisor, POLLIN, 0};
  while (poll(&word, 1, -1) < 0 && errno == EINTR) continue;
  char go = 0;
  return receive_packet(supervisor, {&go, 1}) == 1;
}

[[noreturn]] void guard(int supervisor, int farewell, const std::vector<pid_t>& keepers,
                        const std::function<Spawned()>& spawn) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  prctl(PR_SET_NAME, "dlock.guard");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (!may_spawn(supervisor)) _exit(0);
  const Spawned spawned = spawn();
  setsid();  // after the command, which stays in the session and the group of the supervisor
  const UniqueFd command = spawned.failure == 0 ? open_process(spawned.pid) : UniqueFd();
  (void)send_packet(supervisor, {reinterpret_cast<const char*>(&spawned), sizeof spawned}, command.get());
  if (spawned.failure != 0) {
    eventfd_write(farewell, 1);
    _exit(0);
  }
  close_all_but(supervisor, farewell);
  forget_command_line();
  Watch(supervisor, keepers, spawned.pid).run();
  eventfd_write(farewell, 1);
  _exit(0);
}

}  // namespace

Result<CommandGuard> CommandGuard::start(const std::vector<pid_t>& keepers, const std::function<Spawned()>& spawn,
                                         const std::function<void(const GuardHandles&)>& tell) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return system_error("cannot make a socket pair", errno);
  }
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  UniqueFd farewell(eventfd(0, EFD_CLOEXEC));
  if (!farewell.valid()) return system_error("cannot make an event descriptor", errno);
  const pid_t pid = fork();
  if (pid < 0) return system_error("cannot start the guard of the command", errno);
  if (pid == 0) {
    ours.reset();
    guard(theirs.get(), farewell.get(), keepers, spawn);
  }
  theirs.reset();
  CommandGuard made(std::move(ours), std::move(farewell), pid);
  if (made.pidfd_.valid()) {
    tell(made.handles());
    (void)send_packet(made.reports(), "g");
    if (made.hear_spawned()) return made;
  }
  const Error error = system_error("cannot watch the guard of the command", errno);
  made.end();
  return error;
}

/// Nothing comes if it was killed. False: there was no room for the command's pidfd.
bool CommandGuard::hear_spawned() {
  pollfd packet{reports(), POLLIN, 0};
  while (poll(&packet, 1, -1) < 0 && errno == EINTR) continue;
  (void)receive_packet(reports(), {reinterpret_cast<char*>(&spawned_), sizeof spawned_}, &command_);
  errno = EMFILE;
  return spawned_.failure != 0 || command_.valid();
}

std::optional<int> CommandGuard::wait_status() {
  int status = 0;
  const std::span<char> packet(reinterpret_cast<char*>(&status), sizeof status);
  if (receive_packet(socket_.get(), packet) != sizeof status) return std::nullopt;
  return status;
}

void CommandGuard::end() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

}  // namespace dlock
