// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/entries.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "lib/keeper/hold_socket.h"
#include "lib/lock/lease.h"
#include "lib/lock/lock_errors.h"

namespace dlock {

void Entries::open(const Granted& granted, Duration lease, UniqueFd listener) {
  hold_ = granted;
  hold_.locks.front().reentered = true;
  hold_.locks.front().warning.clear();
  hold_.lease = lease_ = lease;
  hold_.keeper = getpid();
  listener_ = std::move(listener);
}

int Entries::inside() const {
  return static_cast<int>(
      std::count_if(entries_.begin(), entries_.end(), [](const Entry& entry) { return entry.spec && !entry.leaves; }));
}

std::optional<TimePoint> Entries::leave_by() const {
  std::optional<TimePoint> last;
  for (const Entry& entry : entries_) {
    if (entry.leaves) last = std::max(last, entry.link.release_by());
  }
  return last;
}

void Entries::answer_leaving(const SessionEvent& answer) {
  entries_.remove_if([&](Entry& entry) {
    if (entry.leaves) entry.link.tell(answer);
    return entry.leaves;
  });
}

void Entries::tell(const SessionEvent& event) {
  if (const auto* renewed = std::get_if<Renewed>(&event)) hold_.deadline = renewed->deadline;
  const auto* lost = std::get_if<Lost>(&event);
  if (lost) lost_ = *lost;
  const TimePoint now = clock_.now();
  for (Entry& entry : entries_) {
    if (!entry.spec) continue;
    if (lost) tell(entry, *lost, now);
    else entry.link.tell(event);
  }
}

void Entries::tell(Entry& entry, const Lost& lost, TimePoint now) {
  entry.link.tell(lost);
  if (!entry.end_command) entry.end_command = now + entry.spec->kill_after + kill_margin(lease_) / 2;
}

void Entries::add_interest(std::vector<pollfd>& fds) const {
  if (listener_.valid()) fds.push_back({listener_.get(), POLLIN, 0});
  for (const Entry& entry : entries_) {
    if (entry.orphans) entry.orphans->add_interest(fds);
    else entry.link.add_interest(fds);
    if (entry.watched.valid()) fds.push_back({entry.watched.get(), POLLIN, 0});
  }
}

/// The KILL that the lease leaves time for.
std::optional<TimePoint> Entries::kills_at() const {
  return hold_.deadline ? std::optional(kill_at(*hold_.deadline, lease_)) : std::nullopt;
}

std::optional<TimePoint> Entries::act_at(const Entry& entry) const {
  if (!entry.command || !entry.spec->ends_command || entry.leaves || entry.orphans) return std::nullopt;
  const auto last = kills_at();
  return earlier(last ? std::optional(*last + kill_margin(lease_) / 2) : std::nullopt, entry.end_command);
}

std::optional<TimePoint> Entries::act_at() const {
  std::optional<TimePoint> first;
  for (const Entry& entry : entries_) first = earlier(first, act_at(entry));
  return first;
}

std::optional<TimePoint> Entries::wake_at() const {
  std::optional<TimePoint> first = act_at();
  const TimePoint now = clock_.now();
  for (const Entry& entry : entries_) {
    if (entry.orphans) first = earlier(first, entry.orphans->wake_at(kills_at()));
    else if (entry.command) first = earlier(first, entry.command->wake_at());
    else if (entry.kept_until > now) first = earlier(first, entry.kept_until);
  }
  return first;
}

void Entries::step() {
  while (listener_.valid()) {
    UniqueFd connection = accept_entry(listener_);
    if (!connection.valid()) {
      if (errno == EMFILE || errno == ENFILE) close();  // it would be ready for ever
      break;
    }
    entries_.emplace_back(std::move(connection));
  }
  const TimePoint now = clock_.now();
  entries_.remove_if([&](Entry& entry) { return !is_left(entry, now); });
}

bool Entries::is_left(Entry& entry, TimePoint now) {
  if (entry.orphans) {
    entry.orphans->step(now, is_over() ? std::optional(now) : kills_at());
    if (!entry.orphans->gone()) return true;
    entry.orphans.reset();
    entry.command.reset();
    return is_kept(entry, now);
  }
  entry.link.receive();
  if (!entry.spec) return admit(entry, now);
  return entry.leaves ? !entry.link.gone() : goes_on(entry, now);
}

/// False, without a word: there is nothing to be entered any more, or whoever asks was not told the secret.
bool Entries::admit(Entry& entry, TimePoint now) {
  if (entry.link.take_count()) entry.link.tell_count(inside() + (outer_has_left_ ? 0 : 1));
  auto request = entry.link.take_acquire();
  if (!request) return !entry.link.gone() && !entry.link.nonsense();
  const auto& claim = request->spec.ancestor;
  if (!claim || claim->secret.empty() || claim->secret != spec_.secret || is_over()) return false;
  if (auto why = why_not_entered(spec_.mode, spec_.permits, request->spec)) {
    entry.link.tell(Refused{std::move(*why), std::nullopt});
    return false;
  }
  entry.spec = std::move(request->spec);
  entry.kept_until = now + entry.spec->at_least;
  entry.link.tell(hold_);
  if (lost_) tell(entry, *lost_, now);
  return true;
}

/// Whatever else it says.
bool Entries::may_end(const Entry& entry, const UniqueFd& guard) {
  if (!guard.valid() || entry.foreign == 0) return guard.valid();
  const auto process = look_up_process(pid_of(guard));
  return process && process->parent == entry.foreign;
}

bool Entries::goes_on(Entry& entry, TimePoint now) {
  if (auto guard = entry.link.take_started(); guard && may_end(entry, guard->process)) {
    entry.command.emplace(processes_, std::move(*guard), now, spec_.renew_interval);
  }
  if (entry.command) entry.command->step(now);
  if (entry.link.withdraw_by()) entry.link.tell(Withdrawn{});
  if (entry.link.withdraw_by() || entry.link.over()) return false;
  if (entry.link.release_by()) return entry.leaves = true;
  if (const auto spec = entry.link.take_detach()) detach(entry, *spec, now);
  const bool gone = entry.link.gone();
  if (gone && !entry.command) return is_kept(entry, now);
  const auto act = act_at(entry);
  if (!gone && (!act || now < *act)) return act || !is_over();
  const Duration kill_after = gone && !is_over() ? entry.spec->kill_after : Duration(0);
  entry.orphans.emplace(processes_, *entry.command, now,
                        Orphans::Spec{kill_after, is_over() ? Duration(0) : lease_, {}, &outer_});
  return true;
}

void Entries::detach(Entry& entry, const SupervisorLink::Detach& spec, TimePoint now) {
  if (spec.watch_pid) {
    auto watched = processes_.watch(*spec.watch_pid);
    if (!watched || !watched->valid()) {
      return entry.link.tell(ReleaseUnconfirmed{watched ? no_such_process(*spec.watch_pid) : watched.error()});
    }
    entry.watched = std::move(*watched);
  }
  entry.kept_until = now + spec.ttl;
  entry.link.tell(Released{});
}

/// Without its supervisor, and with nothing left of its command.
bool Entries::is_kept(const Entry& entry, TimePoint now) const {
  if (lost_) return false;
  return entry.watched.valid() ? !has_ended(entry.watched) : now < entry.kept_until;
}

}  // namespace dlock
