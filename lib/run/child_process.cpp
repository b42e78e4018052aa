// SPDX-License-Identifier: Apache-2.0
#include "lib/run/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "lib/base/human_text.h"
#include "lib/base/system_error.h"
#include "lib/base/unique_fd.h"
#include "lib/lock/held_claims.h"
#include "lib/run/descendants.h"

namespace dlock {
namespace {

/// As the keeper's (lib/keeper/orphans.h).
constexpr int kEmptyLooks = 2;
constexpr char kDefaultPath[] = "/usr/local/bin:/bin:/usr/bin";

/// 0 if `path` may be executed, else the errno value that execve would give.
int fitness(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return errno;
  if (S_ISDIR(info.st_mode)) return EISDIR;
  return access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

int status_of(int errnum) { return errnum == ENOENT || errnum == ENOTDIR ? 127 : 126; }

/// A hold that was only entered again has the owner of the hold above us, whose processes are not ours to end.
std::string owner_marker(const std::vector<HeldLock>& locks) {
  const bool own = std::any_of(locks.begin(), locks.end(), [](const HeldLock& lock) { return !lock.reentered; });
  if (!own) return {};
  std::string marker = "DLOCK_OWNER=";
  for (const HeldLock& lock : locks) marker.append(&lock == &locks.front() ? "" : " ").append(lock.owner.text());
  return marker;
}

/// Down: who plans with it is rather too early.
std::string epoch_seconds(WallTime time) {
  return std::to_string(std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count());
}

/// Empty if none has a slot.
std::string slots_of(const std::vector<HeldLock>& locks) {
  const bool any = std::any_of(locks.begin(), locks.end(), [](const HeldLock& lock) { return !lock.slot.empty(); });
  std::string text;
  for (const HeldLock& lock : locks) {
    if (any) text.append(text.empty() ? "" : " ").append(lock.slot.empty() ? "-" : lock.slot);
  }
  return text;
}

/// A shell that has us in the foreground waits until we stop, too; and in the background, where writing has stopped the
/// `group` ("stty tostop"), it would not know that there is something to continue.
bool shell_waits_for(int signal, pid_t group) {
  if (signal == SIGTTOU && group == getpgrp()) return true;
  const UniqueFd terminal(open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC));
  const pid_t foreground = terminal.valid() ? tcgetpgrp(terminal.get()) : -1;
  return foreground > 0 && (foreground == getpgrp() || foreground == group);
}

std::string_view name_of(std::string_view assignment) { return assignment.substr(0, assignment.find('=')); }

}  // namespace

Program find_program(std::string_view name, const char* search) {
  const auto unfit = [&](int errnum) {
    return Program{std::string(name), status_of(errnum), errnum == ENOENT ? "command not found" : errno_text(errnum)};
  };
  if (name.empty()) return unfit(ENOENT);
  if (name.find('/') != std::string_view::npos) {
    const int errnum = fitness(std::string(name));
    return errnum == 0 ? Program{std::string(name), 0, {}} : unfit(errnum);
  }
  int worst = ENOENT;  // something there that cannot be executed says more than nothing there
  std::string_view rest = search ? search : kDefaultPath;
  while (true) {
    const std::size_t colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    std::string path = folder.empty() ? std::string(name) : std::string(folder) + "/" + std::string(name);
    const int errnum = fitness(path);
    if (errnum == 0) return {path.find('/') == std::string::npos ? "./" + path : path, 0, {}};
    if (errnum == EACCES || errnum == EISDIR) worst = errnum;
    if (colon == std::string_view::npos) return unfit(worst);
    rest.remove_prefix(colon + 1);
  }
}

std::vector<std::string> lock_variables(char** environment, const std::vector<HeldLock>& locks,
                                        std::optional<WallTime> deadline) {
  constexpr std::string_view kHeld = "DLOCK_HELD=";
  if (locks.empty()) return {};
  std::string_view outer;
  for (char** entry = environment; *entry; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with(kHeld)) outer = text.substr(kHeld.size());
  }
  std::string key = "DLOCK_KEY=", keys = "DLOCK_KEYS=", token = "DLOCK_TOKEN=", owner = "DLOCK_OWNER=";
  for (const HeldLock& lock : locks) {
    const bool first = &lock == &locks.front();
    const char* blank = first ? "" : " ";
    key.append(blank).append(lock.name.text());
    keys.append(first ? "" : "\n").append(lock.name.text());
    token.append(blank).append(lock.token.shown());
    owner.append(blank).append(lock.owner.text());
  }
  std::vector<std::string> set = {key, keys, token, owner, "DLOCK_STORE=" + locks.front().store};
  set.push_back("DLOCK_DEADLINE=" + (deadline ? epoch_seconds(*deadline) : std::string()));
  set.push_back(std::string(kHeld) + format_held(outer, locks));
  if (const std::string slots = slots_of(locks); !slots.empty()) set.push_back("DLOCK_SLOT=" + slots);
  if (!locks.front().parts.empty()) set.push_back("DLOCK_STOCK_PARTS=" + locks.front().parts);
  return set;
}

std::vector<char*> merged_environment(char** environment, const std::vector<std::string>& set) {
  std::vector<char*> merged;
  merged.reserve(128);
  for (char** entry = environment; *entry; ++entry) {
    const std::string_view text = *entry;
    const bool replaced =
        text.starts_with("DLOCK_") &&
        std::any_of(set.begin(), set.end(), [&](const std::string& own) { return name_of(own) == name_of(text); });
    if (!replaced) merged.push_back(*entry);
  }
  for (const std::string& own : set) merged.push_back(const_cast<char*>(own.c_str()));
  merged.push_back(nullptr);
  return merged;
}

SupervisorEvent ChildProcess::start(const StartContext& context) {
  std::vector<std::string> own = lock_variables(spec_.environment, context.locks, context.deadline);
  own.insert(own.end(), spec_.variables.begin(), spec_.variables.end());
  const std::vector<char*> environment = merged_environment(spec_.environment, own);
  marker_ = owner_marker(context.locks);
  keepers_ = context.keepers;
  if (!keepers_.empty() && !context.locks.empty()) mark_ = make_mark(context.locks.front().owner.text());

  prctl(PR_SET_CHILD_SUBREAPER, 1);
  // What they have started meanwhile becomes a child of ours when its parent ends.
  if (!spec_.others.empty()) spec_.others = command_processes(getpid(), "");
  const int failure = spawn(environment.data(), spec_.keep_descriptors ? std::vector<int>() : context.inherit);
  if (failure == 0) {
    alive_ = true;
    return CommandStarted{};
  }
  const std::string name = spec_.arguments[0];
  if (pid_ < 0) return CommandNotStarted{system_error("cannot start a process for '" + name + "'", failure), 71};
  Error error{ErrorCode::kInvalid, "cannot run '" + name + "': " + errno_text(failure)};
  // The file itself was found.
  if (failure == ENOENT) error.next = "is there what its first line names? head -n 1 " + shell_word(spec_.program.path);
  return CommandNotStarted{std::move(error), status_of(failure)};
}

/// 0, or the errno value of fork (pid_ < 0) or of execve. vfork suspends us until the child has executed or given up,
/// so that the child's failure can simply be left in our memory, and no page is copied.
int ChildProcess::spawn(char* const* environment, const std::vector<int>& inherit) {
  const pid_t parent = getpid();
  volatile int failure = 0;
  // A script without "#!" line is run by the shell, as execvp(3) does.
  std::vector<char*> by_shell = {const_cast<char*>("/bin/sh"), const_cast<char*>(spec_.program.path.c_str())};
  by_shell.insert(by_shell.end(), spec_.arguments.begin() + 1, spec_.arguments.end());

  const pid_t pid = vfork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);  // it died between vfork and prctl: no signal will come
    if (mark_ != 0) mark_this_process(mark_);
    for (const int fd : inherit) fcntl(fd, F_SETFD, 0);  // its own table: ours keeps close-on-exec
    if (spec_.signals.ignored_child) ::signal(SIGCHLD, SIG_IGN);
    sigprocmask(SIG_SETMASK, &spec_.signals.mask, nullptr);
    execve(spec_.program.path.c_str(), spec_.arguments.data(), environment);
    if (errno == ENOEXEC) execve("/bin/sh", by_shell.data(), environment);
    failure = errno;
    _exit(127);
  }
  pid_ = pid;
  if (pid < 0) return errno;
  if (failure == 0) return 0;
  waitpid(pid, nullptr, 0);
  return failure;
}

std::optional<int> ChildProcess::ended() {
  if (!alive_) return std::nullopt;
  // Everything below us is ours to reap: descendants whose parents are gone, and helpers of the session.
  std::optional<int> result;
  int status = 0;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
    if (pid != pid_) continue;
    if (WIFSTOPPED(status)) stopped_by_ = WSTOPSIG(status);
    else result = status;
  }
  if (result) alive_ = false;
  return result;
}

bool ChildProcess::stops_the_job() {
  const int signal = std::exchange(stopped_by_, 0);
  return signal != 0 && alive_ && shell_waits_for(signal, getpgid(pid_));
}

void ChildProcess::signal(int number) {
  if (alive_) kill(pid_, number);  // not reaped yet: the pid cannot be anybody else's
}

/// The command's processes apart from the command itself.
std::vector<ProcessId> ChildProcess::tree() const {
  std::vector<ProcessId> found = command_processes(getpid(), marker_, spec_.others);
  const auto is_other = [&](const ProcessId& process) {
    return process.pid == pid_ || std::find(keepers_.begin(), keepers_.end(), process.pid) != keepers_.end();
  };
  found.erase(std::remove_if(found.begin(), found.end(), is_other), found.end());
  return found;
}

void ChildProcess::signal_tree(int number) {
  signal(number);
  for (const ProcessId& process : tree()) {
    if (signal_process(process, number) || errno != EPERM || said_denied_) continue;
    said_denied_ = true;
    spec_.log.warn("may not end process " + std::to_string(process.pid) +
                   ", which the command started as another user");
  }
  if (said_unseen_ || proc_shows_us()) return;
  said_unseen_ = true;
  spec_.log.warn(
      "cannot see what the command has started, and ends the command alone: is /proc mounted, that of this pid "
      "namespace, and ulimit -n not reached?");
}

/// Whoever is left descends from a child of ours, since orphans become ours: who has no child need not look. A look can
/// miss a process that forks and ends meanwhile, so children that are neither the session's nor were there before count
/// for more than one.
bool ChildProcess::tree_gone() {
  pid_t reaped = 0;
  while ((reaped = waitpid(-1, nullptr, WNOHANG)) > 0) {
  }
  const bool childless = reaped < 0 && errno == ECHILD;
  if (!childless && keepers_.empty() && spec_.others.empty() && proc_shows_us()) return false;
  for (int look = 0; look < kEmptyLooks; ++look) {
    if (!tree().empty()) return false;
  }
  return true;
}

bool ChildProcess::sent_by_it(pid_t sender) const {
  return sender > 0 && (sender == pid_ || descends_from(sender, getpid()));
}

}  // namespace dlock
