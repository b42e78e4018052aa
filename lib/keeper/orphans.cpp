// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/orphans.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "lib/base/system_error.h"
#include "lib/base/text.h"
#include "lib/run/descendants.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

/// A process that forks on is looked for often, one that only has to end rarely: the guard's end wakes us.
constexpr Duration kFirstPause = 2ms;
constexpr Duration kLongestPause = 50ms;
/// The first look at a command: most are over by then.
constexpr Duration kFirstLook = 100ms;
/// Of a tree that grows as fast as it is looked at.
constexpr int kMostLooks = 50;

/// True also where there is no descriptor.
bool is_readable(const UniqueFd& fd) {
  pollfd one{fd.get(), POLLIN, 0};
  return !fd.valid() || poll(&one, 1, 0) == 1;
}

/// Whether it would have adopted an orphan until now. False also where /proc does not show it.
bool adopts(pid_t pid) {
  constexpr int kFieldsBeforeFlags = 6;  // proc(5): state (3) to tpgid (8)
  constexpr unsigned kExiting = 0x4;     // PF_EXITING of the kernel, in the flags of proc(5)
  const std::string stat = read_proc(pid, "stat");
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return false;
  std::string_view rest = std::string_view(stat).substr(std::min(name_end + 2, stat.size()));
  for (int field = 0; field < kFieldsBeforeFlags; ++field) cut(rest, ' ');
  const auto flags = whole_number<unsigned>(cut(rest, ' '));
  return flags && (*flags & kExiting) == 0;
}

}  // namespace

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

/// Whoever is our parent may be ending: it adopts nobody any more, and we are its child a little longer.
std::optional<std::vector<Family>> SystemProcesses::adopted(const ProcessId& guard) {
  if (!proc_shows_us()) return std::nullopt;
  std::vector<Family> families;
  for (pid_t parent = 0; parent != getppid();) {
    families.clear();
    parent = getppid();
    for (const ProcessId& child : children_of(parent)) {
      if (child.pid == getpid() || child.start_time < guard.start_time) continue;
      const auto stat = look_up_process(child.pid);
      if (!stat || has_ended(*stat)) continue;
      Family family = descendants_of(child.pid);
      family.insert(family.begin(), child);
      families.push_back(std::move(family));
    }
    if (!adopts(parent)) return std::nullopt;
  }
  return families;
}

bool SystemProcesses::knows(const ProcessId& process, const std::string& owner) {
  return read_proc(process.pid, "environ").find(owner) != std::string::npos;
}

std::optional<ProcessId> SystemProcesses::identify(const UniqueFd& pidfd) {
  const auto stat = look_up_process(pid_of(pidfd));
  return stat ? std::optional(stat->id) : std::nullopt;
}

bool SystemProcesses::signal(const ProcessId& process, int number) {
  return signal_process(process, number) || errno != EPERM;
}

void SystemProcesses::signal_by(const UniqueFd& pidfd, int number) { signal_process(pidfd, number); }

void SystemProcesses::close_streams() { dup2(STDIN_FILENO, STDERR_FILENO); }  // /dev/null

WatchedCommand::WatchedCommand(Processes& processes, Guard guard, TimePoint now, Duration pause)
    : processes_(processes),
      guard_(std::move(guard)),
      id_(processes.identify(guard_.process).value_or(ProcessId())),
      longest_pause_(std::max(pause, kFirstLook)),
      pause_(kFirstLook),
      next_look_(now + kFirstLook) {}

void WatchedCommand::step(TimePoint now) {
  if (now < next_look_) return;
  if (auto found = processes_.below(guard_.process); found && !has_ended(guard_.process)) known_ = std::move(*found);
  pause_ = std::min(pause_ * 2, longest_pause_);
  next_look_ = now + pause_;
}

bool WatchedCommand::is_over() const { return is_readable(guard_.farewell) && has_ended(guard_.process); }

Orphans::Orphans(Processes& processes, const WatchedCommand& command, TimePoint now, Spec spec)
    : processes_(processes),
      command_(command),
      spec_(std::move(spec)),
      kill_at_(now + spec_.kill_after),
      pause_(kFirstPause),
      next_search_(now),
      known_(command.known()) {}

void Orphans::step(TimePoint now, std::optional<TimePoint> last) {
  gone_ = gone_ || command_.is_over();
  if (!killing_ && now >= kills_at(last)) {
    killing_ = true;
    pause_ = kFirstPause;
    next_search_ = now;
  }
  if (!killed_at_ && has_ended(command_.guard())) {
    killed_at_ = now;
    next_search_ = now;
  }
  if (now >= next_search_ && !gone_) search(now);
}

/// Until a look finds nobody new: a process that was being started has its signal before it starts another one.
void Orphans::search(TimePoint now) {
  if (killing_) processes_.signal_by(command_.guard(), SIGCONT);  // one that was stopped sees no end
  bool grew = false;
  for (int looks = 0; looks < kMostLooks && look(now); ++looks) grew = true;
  pause_ = grew ? kFirstPause : std::min(pause_ * 3 / 2, kLongestPause);
  next_search_ = now + pause_;
}

/// True: it found somebody new.
bool Orphans::look(TimePoint now) {
  const auto found = find_left(now);
  if (!found) end_unseen();
  bool grows = false;
  for (const ProcessId& process : found.value_or(std::vector<ProcessId>())) {
    const bool told = std::find(told_.begin(), told_.end(), process) != told_.end();
    if (!told || killing_) send(process);
    grows = grows || !told;
  }
  if (found) told_ = *found;
  return grows;
}

std::optional<std::vector<ProcessId>> Orphans::find_left(TimePoint now) {
  return killed_at_ ? find_adopted(now) : processes_.below(command_.guard());
}

/// After the guard. Nobody says when the last one is gone.
std::optional<std::vector<ProcessId>> Orphans::find_adopted(TimePoint now) {
  const auto families = candidates();
  std::vector<ProcessId> ours;
  for (const Family& family : families.value_or(std::vector<Family>())) {
    if (is_ours(family)) ours.insert(ours.end(), family.begin(), family.end());
  }
  known_.insert(known_.end(), ours.begin(), ours.end());
  const auto none = [](const auto& all) { return all && all->empty(); };
  const bool certain = none(families) && none(candidates());  // a look can miss what changes meanwhile
  gone_ = ours.empty() && (certain || now >= *killed_at_ + spec_.lease);
  return families ? std::optional(ours) : std::nullopt;
}

std::optional<std::vector<Family>> Orphans::candidates() {
  const bool inside = spec_.outer && *spec_.outer && !has_ended((*spec_.outer)->guard());
  if (!inside) return processes_.adopted(command_.guard_id());
  const auto below = processes_.below((*spec_.outer)->guard());
  if (!below) return std::nullopt;
  std::vector<Family> families;
  for (const ProcessId& process : *below) {
    if (process.start_time >= command_.guard_id().start_time) families.push_back({process});
  }
  return families;
}

bool Orphans::is_known(const ProcessId& process) const {
  return std::find(known_.begin(), known_.end(), process) != known_.end();
}

bool Orphans::is_ours(const Family& family) {
  return std::any_of(family.begin(), family.end(), [&](const ProcessId& process) {
    return is_known(process) || (!spec_.owner.empty() && processes_.knows(process, spec_.owner));
  });
}

/// Where /proc does not show what is left the command alone is ended, which gets what its guard gets.
void Orphans::end_unseen() {
  if (killing_) processes_.signal_by(command_.guard(), SIGKILL);
  else if (!std::exchange(told_unseen_, true)) processes_.signal_by(command_.guard(), SIGTERM);
}

void Orphans::send(const ProcessId& process) {
  const bool may = processes_.signal(process, killing_ ? SIGKILL : SIGTERM);
  if (!may && !untouchable_) untouchable_ = process.pid;
}

/// The end of a guard that was killed has been seen, and would be seen for ever.
void Orphans::add_interest(std::vector<pollfd>& fds) const {
  if (!killed_at_) fds.push_back({command_.guard().get(), POLLIN, 0});
}

TimePoint Orphans::wake_at(std::optional<TimePoint> last) const {
  return killing_ ? next_search_ : std::min(next_search_, kills_at(last));
}

}  // namespace dlock
