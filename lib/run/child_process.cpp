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
#include <cstdlib>
#include <memory>
#include <utility>

#include "lib/base/human_text.h"
#include "lib/base/system_error.h"
#include "lib/base/unique_fd.h"
#include "lib/lock/held_claims.h"

namespace dlock {
namespace {

/// Of a tree that grows as fast as it is looked at; KILL comes again anyway.
constexpr int kMostLooks = 50;
constexpr char kDefaultPath[] = "/usr/local/bin:/bin:/usr/bin";

/// 0 if `path` may be executed, else the errno value that execve would give.
int fitness(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return errno;
  if (S_ISDIR(info.st_mode)) return EISDIR;
  return access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

int status_of(int errnum) { return errnum == ENOENT || errnum == ENOTDIR ? 127 : 126; }

std::string unfit_text(std::string_view name, int errnum) {
  const std::string path(name);
  if (errnum != ENOENT) return "cannot run '" + path + "': " + errno_text(errnum);
  if (path.find('/') == std::string::npos) return "cannot run '" + path + "': command not found";
  const std::unique_ptr<char, void (*)(void*)> here(path.starts_with('/') ? nullptr : get_current_dir_name(),
                                                    std::free);
  return "there is no " + path + (here ? " in " + std::string(here.get()) : "");
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
    return Program{std::string(name), status_of(errnum), unfit_text(name, errnum)};
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
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  // Their own new children become ours when the parent ends.
  if (!spec_.others.empty()) spec_.others = descendants_of(getpid());
  keepers_ = context.keepers;
  prepare(context);
  const auto answer = keepers_.empty() ? spawn() : start_guarded(context);
  if (!answer) return CommandNotStarted{answer.error(), 71};
  const Spawned& spawned = *answer;
  pid_ = spawned.pid;
  if (spawned.failure == 0) {
    alive_ = true;
    return CommandStarted{};
  }
  const std::string name = spec_.arguments[0];
  if (pid_ < 0)
    return CommandNotStarted{system_error("cannot start a process for '" + name + "'", spawned.failure), 71};
  Error error{ErrorCode::kInvalid, "cannot run '" + name + "': " + errno_text(spawned.failure)};
  // The file itself was found.
  if (spawned.failure == ENOENT) {
    error.next = "does the interpreter in its first line exist? head -n 1 " + shell_word(spec_.program.path);
  }
  return CommandNotStarted{std::move(error), status_of(spawned.failure)};
}

/// What execve takes, made before there is a guard: whatever that writes is first copied, page by page.
void ChildProcess::prepare(const StartContext& context) {
  own_ = lock_variables(spec_.environment, context.locks, context.deadline);
  own_.insert(own_.end(), spec_.variables.begin(), spec_.variables.end());
  environment_ = merged_environment(spec_.environment, own_);
  if (!spec_.keep_descriptors) inherit_ = context.inherit;
  by_shell_ = {const_cast<char*>("/bin/sh"), const_cast<char*>(spec_.program.path.c_str())};
  by_shell_.insert(by_shell_.end(), spec_.arguments.begin() + 1, spec_.arguments.end());
}

Result<Spawned> ChildProcess::start_guarded(const StartContext& context) {
  auto guard = CommandGuard::start(
      keepers_, [this] { return spawn(); }, context.tell_keepers);
  if (!guard) return guard.error();
  guard_ = std::move(*guard);
  return guard_->spawned();
}

/// vfork suspends us until the child has executed or given up, so that the child's failure can simply be left in our
/// memory, and no page is copied. Its parent is whoever calls this: we, or the guard.
Spawned ChildProcess::spawn() const {
  const pid_t parent = getpid();
  volatile int failure = 0;
  const pid_t pid = vfork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);                  // it died between vfork and prctl: no signal will come
    for (const int fd : inherit_) fcntl(fd, F_SETFD, 0);  // its own table: ours keeps close-on-exec
    if (spec_.signals.ignored_child) ::signal(SIGCHLD, SIG_IGN);
    sigprocmask(SIG_SETMASK, &spec_.signals.mask, nullptr);
    execve(spec_.program.path.c_str(), spec_.arguments.data(), environment_.data());
    if (errno == ENOEXEC) execve("/bin/sh", by_shell_.data(), environment_.data());
    failure = errno;
    _exit(127);
  }
  if (pid < 0) return {-1, errno};
  if (failure != 0) waitpid(pid, nullptr, 0);
  return {pid, failure};
}

void ChildProcess::add_interest(std::vector<pollfd>& fds) const {
  if (guard_ && alive_) fds.push_back({guard_->reports(), POLLIN, 0});
}

void ChildProcess::take(int wait_status) {
  if (WIFSTOPPED(wait_status)) {
    stopped_by_ = WSTOPSIG(wait_status);
    return;
  }
  end_ = CommandEnded{wait_status, guard_killed_};
  alive_ = false;
}

void ChildProcess::hear_guard() {
  while (const auto status = guard_->wait_status()) take(*status);
}

/// Everything below us is ours to reap: descendants whose parents are gone, and helpers of the session. False if there
/// is none any more.
bool ChildProcess::reap() {
  if (guard_) hear_guard();
  int status = 0;
  pid_t pid = 0;
  while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
    if (pid == pid_ && alive_) take(status);
    if (!guard_ || pid != guard_->pid()) continue;
    if (WIFSTOPPED(status)) {
      kill(pid, SIGCONT);
      continue;
    }
    hear_guard();
    guard_.reset();
    if (!alive_) continue;
    guard_killed_ = true;
    spec_.log.warn("the process that guards the command was killed, so the command and what it started are, too");
    // The kernel has killed the command, which is ours to reap now, unless the guard has done so.
    siginfo_t end;
    if (waitid(P_PID, static_cast<id_t>(pid_), &end, WEXITED | WNOHANG | WNOWAIT) != 0) take(SIGKILL);
  }
  return pid == 0 || errno != ECHILD;
}

std::optional<CommandEnded> ChildProcess::ended() {
  if (alive_) reap();
  return std::exchange(end_, std::nullopt);
}

/// A guard reports a stop that may be over when we hear of it: ^Z and fg were for us as well.
bool ChildProcess::stops_the_job() {
  const int signal = std::exchange(stopped_by_, 0);
  if (signal == 0 || !alive_) return false;
  const auto command = look_up_process(pid_);
  return (!command || command->state == 'T') && shell_waits_for(signal, getpgid(pid_));
}

void ChildProcess::continued() {
  if (alive_) reap();
  stopped_by_ = 0;
}

void ChildProcess::signal(int number) {
  if (!alive_) return;
  if (guard_) guard_->signal(number);
  else kill(pid_, number);  // not reaped yet: the pid cannot be another process's
}

/// The command's processes apart from the command itself.
std::vector<ProcessId> ChildProcess::tree() const {
  std::vector<ProcessId> found = descendants_of(guard_ ? guard_->pid() : getpid(), spec_.others);
  const auto is_other = [&](const ProcessId& process) {
    return process.pid == pid_ || std::find(keepers_.begin(), keepers_.end(), process.pid) != keepers_.end();
  };
  found.erase(std::remove_if(found.begin(), found.end(), is_other), found.end());
  return found;
}

/// The command first: a script whose step ends before it has its signal begins the next one. Whoever was being started
/// meanwhile is found by another look.
void ChildProcess::signal_tree(int number) {
  signal(number);
  std::vector<ProcessId> told;
  for (int looks = 0; looks < kMostLooks; ++looks) {
    const std::size_t before = told.size();
    for (const ProcessId& process : tree()) {
      if (std::find(told.begin(), told.end(), process) != told.end()) continue;
      told.push_back(process);
      signal_descendant(process, number);
    }
    if (told.size() == before) break;
  }
  if (said_unseen_ || proc_shows_us()) return;
  said_unseen_ = true;
  spec_.log.warn(
      "cannot see what the command has started, so only the command itself is ended: is /proc mounted, that of this "
      "pid namespace, and ulimit -n not reached?");
}

void ChildProcess::signal_descendant(const ProcessId& process, int number) {
  if (signal_process(process, number) || errno != EPERM || said_denied_) return;
  said_denied_ = true;
  spec_.log.warn("may not end process " + std::to_string(process.pid) + ", which the command started as another user");
}

/// Every process that is left descends from a child of ours, since orphans become ours: no child, nothing left. Other
/// children hide that, and a look can miss a process that forks and ends during it: then it takes more than one.
bool ChildProcess::tree_gone() {
  const bool childless = !reap();
  if (childless) return true;
  if (guard_) return false;
  if (keepers_.empty() && spec_.others.empty() && proc_shows_us()) return false;
  return tree().empty() && tree().empty();
}

/// Reaps it too, so that what the command has used counts as used by us.
void ChildProcess::end_guard() {
  if (guard_) guard_->end();
  guard_.reset();
}

/// One that has left it, as timeout(1) does, is not where the terminal sends its signals.
bool ChildProcess::is_in_our_group() const { return pid_ <= 0 || getpgid(pid_) == getpgrp(); }

bool ChildProcess::sent_by_it(pid_t sender) const {
  return sender > 0 && (sender == pid_ || descends_from(sender, getpid()));
}

}  // namespace dlock
