// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/orphans.h"

#include <signal.h>

#include <algorithm>
#include <utility>

namespace dlock {
namespace {

using namespace std::chrono_literals;

/// Most processes end at once when they are told to: the looks begin often, and get rarer.
constexpr Duration kFirstPause = 2ms;
constexpr Duration kLongestPause = 50ms;

}  // namespace

Orphans::Orphans(Processes& processes, const ProcessId& command, const UniqueFd& pidfd, CommandMarks marks,
                 TimePoint now, Duration kill_after)
    : processes_(processes),
      command_(command),
      pidfd_(pidfd),
      marks_(std::move(marks)),
      kill_at_(now + kill_after),
      pause_(kFirstPause),
      next_search_(now) {}

void Orphans::step(TimePoint now, std::optional<TimePoint> last) {
  if (!killing_ && now >= kills_at(last)) {
    killing_ = true;
    pause_ = kFirstPause;
    next_search_ = now;
  }
  if (search_is_due(now)) search(now);
}

/// The end of one that is watched is the moment to see whether there are others, and what it may have started.
bool Orphans::search_is_due(TimePoint now) const {
  return now >= next_search_ || std::any_of(orphans_.begin(), orphans_.end(), [](const Orphan& orphan) {
           return orphan.watched && has_ended(orphan.watch);
         });
}

void Orphans::search(TimePoint now) {
  std::vector<ProcessId> roots;
  if (command_.pid != 0) roots.push_back(command_);
  for (const Orphan& orphan : orphans_) roots.push_back(orphan.id);
  std::vector<Orphan> left;
  for (const ProcessId& found : processes_.remaining(roots, marks_)) {
    const auto known =
        std::find_if(orphans_.begin(), orphans_.end(), [&](const Orphan& orphan) { return orphan.id == found; });
    if (known == orphans_.end() || killing_) send(found);
    if (known != orphans_.end()) {
      left.push_back(std::move(*known));
      continue;
    }
    auto watch = processes_.watch(found.pid);
    const bool watched = static_cast<bool>(watch);
    left.push_back({found, watched ? std::move(*watch) : UniqueFd(), watched});
  }
  orphans_ = std::move(left);
  empty_looks_ = orphans_.empty() && !end_unseen() ? empty_looks_ + 1 : 0;
  if (orphans_.empty()) pause_ = kFirstPause;
  next_search_ = now + pause_;
  pause_ = std::min(pause_ * 3 / 2, kLongestPause);
}

/// The command itself where /proc does not show it: in a bare chroot, say. False if it is gone.
bool Orphans::end_unseen() {
  const bool due = killing_ || !std::exchange(told_unseen_, true);
  return processes_.signal_by(pidfd_, !due ? 0 : killing_ ? SIGKILL : SIGTERM);
}

void Orphans::send(const ProcessId& process) {
  const bool may = processes_.signal(process, killing_ ? SIGKILL : SIGTERM);
  if (!may && !untouchable_) untouchable_ = process.pid;
}

void Orphans::add_interest(std::vector<pollfd>& fds) const {
  for (const Orphan& orphan : orphans_) {
    if (orphan.watch.valid()) fds.push_back({orphan.watch.get(), POLLIN, 0});
  }
}

TimePoint Orphans::wake_at(std::optional<TimePoint> last) const {
  return killing_ ? next_search_ : std::min(next_search_, kills_at(last));
}

}  // namespace dlock
