// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/orphans.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "lib/base/system_error.h"
#include "lib/run/descendants.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

/// A process that forks on is looked for often, one that only has to end rarely: the guard's end wakes us.
constexpr Duration kFirstPause = 2ms;
constexpr Duration kLongestPause = 50ms;

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

bool SystemProcesses::signal(const ProcessId& process, int number) {
  return signal_process(process, number) || errno != EPERM;
}

void SystemProcesses::signal_by(const UniqueFd& pidfd, int number) { signal_process(pidfd, number); }

void SystemProcesses::close_streams() { dup2(STDIN_FILENO, STDERR_FILENO); }  // /dev/null

Orphans::Orphans(Processes& processes, const UniqueFd& guard, TimePoint now, Duration kill_after)
    : processes_(processes), guard_(guard), kill_at_(now + kill_after), pause_(kFirstPause), next_search_(now) {}

void Orphans::step(TimePoint now, std::optional<TimePoint> last) {
  if (!killing_ && now >= kills_at(last)) {
    killing_ = true;
    pause_ = kFirstPause;
    next_search_ = now;
  }
  if (now >= next_search_ && !gone()) search(now);
}

void Orphans::search(TimePoint now) {
  if (killing_) processes_.signal_by(guard_, SIGCONT);  // one that was stopped sees no end
  const auto found = processes_.below(guard_);
  if (!found) end_unseen();
  bool grows = false;
  for (const ProcessId& process : found.value_or(std::vector<ProcessId>())) {
    const bool known = std::find(known_.begin(), known_.end(), process) != known_.end();
    if (!known || killing_) send(process);
    grows = grows || !known;
  }
  if (found) known_ = *found;
  pause_ = grows ? kFirstPause : std::min(pause_ * 3 / 2, kLongestPause);
  next_search_ = now + pause_;
}

/// Where /proc does not show what is left the command alone is ended, which gets what its guard gets.
void Orphans::end_unseen() {
  if (killing_) processes_.signal_by(guard_, SIGKILL);
  else if (!std::exchange(told_unseen_, true)) processes_.signal_by(guard_, SIGTERM);
}

void Orphans::send(const ProcessId& process) {
  const bool may = processes_.signal(process, killing_ ? SIGKILL : SIGTERM);
  if (!may && !untouchable_) untouchable_ = process.pid;
}

TimePoint Orphans::wake_at(std::optional<TimePoint> last) const {
  return killing_ ? next_search_ : std::min(next_search_, kills_at(last));
}

}  // namespace dlock
