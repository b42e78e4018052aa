// SPDX-License-Identifier: Apache-2.0
#include "lib/history/history.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace dlock {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;

/// Events of several processes do not always come in order.
constexpr Duration kNoStep = 2s;

microseconds in_us(Duration length) { return std::chrono::duration_cast<microseconds>(length); }

std::string process_key(const Event& event) {
  return event.who.host + '\n' + std::to_string(event.who.pid) + '\n' + event.key;
}

std::string hold_key(const std::string& owner, const std::string& key) { return owner + '\n' + key; }

/// The process that has left a lease is of no interest.
Participant who_of(const Event& event) {
  Participant who = event.who;
  if (who.lease) who.pid = 0;
  return who;
}

Episode episode_of(const Event& event) {
  Episode episode;
  episode.key = event.key;
  episode.store = event.store;
  episode.who = who_of(event);
  episode.asked = event.time - in_us(event.waited.value_or(0s));
  return episode;
}

void put_end(Episode& episode, const Event& event) {
  episode.exit_code = event.exit_code;
  episode.signal = event.signal;
  episode.outcome = event.outcome;
  if (!event.why.empty()) episode.why += (episode.why.empty() ? "" : "; ") + event.why;
}

/// By the clock that does not step, where it was looked at.
WallTime end_of_hold(const Episode& episode, const Event& event) {
  return episode.granted && event.held ? *episode.granted + in_us(*event.held) : event.time;
}

/// Whether the run has ended before, and the rest of it (--at-least) now.
bool ends_rest(Episode& episode, const Event& event) {
  if (episode.end != Episode::End::kReleased || !episode.kept) return false;
  episode.kept = event.time;
  return true;
}

bool is_granted(const Episode& episode) { return episode.granted.has_value(); }

/// The end of its command, if it had one and that is known. One that was ended, because the lock was lost or held for
/// too long, has not done its work, whatever its status.
void note_end(const Episode& episode, Totals& totals) {
  const bool known = episode.exit_code || episode.signal;
  if (!known || !episode.ended) return;
  if (episode.exit_code == 0 && episode.outcome == "ran")
    totals.last_success = std::max(totals.last_success.value_or(*episode.ended), *episode.ended);
  if (totals.last_ended && *totals.last_ended > *episode.ended) return;
  totals.last_ended = episode.ended;
  totals.last_exit = episode.exit_code ? *episode.exit_code : 128 + *episode.signal;
}

}  // namespace

std::optional<Duration> percentile(const std::vector<Duration>& sorted, int percent) {
  if (sorted.empty()) return std::nullopt;
  const std::size_t rank = (sorted.size() * static_cast<std::size_t>(percent) + 99) / 100;
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

void History::add_line(std::string_view line) {
  const ReadLine read = read_event(line);
  if (read.torn) ++torn_;
  else if (!read.event && !line.empty()) ++foreign_;
  if (read.event) add(*read.event);
}

Episode& History::open_wait(const Event& event) {
  const auto [at, is_new] = waits_.try_emplace(process_key(event), episodes_.size());
  if (is_new) episodes_.push_back(episode_of(event));
  return episodes_[at->second];
}

Episode& History::open_hold(const Event& event) {
  const auto [at, is_new] = holds_.try_emplace(hold_key(event.who.owner, event.key), episodes_.size());
  if (is_new) {  // its grant was written down before this file began
    episodes_.push_back(episode_of(event));
    Episode& episode = episodes_.back();
    episode.end = Episode::End::kHeld;
    episode.granted = event.time - in_us(event.held.value_or(0s));
    episode.asked = *episode.granted;
  }
  Episode& episode = episodes_[at->second];
  if (event.who.command_pid > 0) episode.who.command_pid = event.who.command_pid;  // once it has been started
  return episode;
}

void History::give_up(const Event& event, Episode::End end) {
  Episode& episode = open_wait(event);
  waits_.erase(process_key(event));
  episode.end = end;
  episode.ended = event.time;
  episode.waited = event.waited;
  episode.holder = event.holder;
  put_end(episode, event);
}

void History::force_released(const Event& event) {
  Event theirs = event;
  if (event.holder) {
    theirs.who = *event.holder;
    theirs.who.owner = event.who.owner;
    theirs.who.token = event.who.token;
    theirs.who.slot = event.who.slot;
    if (event.holder->since) theirs.held = std::max<Duration>(event.time - *event.holder->since, 0s);
  }
  Episode& episode = open_hold(theirs);
  if (episode.end == Episode::End::kLost || ends_rest(episode, event)) return;  // its holder has said so
  episode.end = Episode::End::kLost;
  episode.lost_at = event.time;
  episode.ended = event.time;
  if (episode.granted) episode.held = std::max<Duration>(event.time - *episode.granted, 0s);
  episode.why =
      forced_by(event.who.user + "@" + event.who.host + (event.who.reason.empty() ? "" : ": " + event.who.reason));
}

void History::note_clock(const Event& event) {
  WallTime& last = clocks_.try_emplace(event.who.host, event.time).first->second;
  if (event.time + in_us(kNoStep) < last) ++clock_steps_;
  last = event.time;
}

void History::granted(const Event& event) {
  Episode& episode = open_wait(event);
  holds_[hold_key(event.who.owner, event.key)] = waits_[process_key(event)];
  waits_.erase(process_key(event));
  episode.who = who_of(event);
  episode.store = event.store;
  episode.end = Episode::End::kHeld;
  episode.granted = event.time;
  episode.waited = event.waited;
  if (event.waited) episode.asked = event.time - in_us(*event.waited);
  episode.holder.reset();
  note_lease(event);
}

void History::renewed(const Event& event) {
  open_hold(event);
  note_lease(event);
}

void History::note_lease(const Event& event) {
  if (event.until) leases_[hold_key(event.who.owner, event.key)] = *event.until;
}

void History::lost(const Event& event) {
  Episode& episode = open_hold(event);
  episode.end = Episode::End::kLost;
  episode.held = event.held;
  episode.lost_at = end_of_hold(episode, event);
  episode.ended = episode.lost_at;
  episode.why = event.why;
}

void History::signalled(const Event& event) {
  Episode& episode = open_hold(event);
  episode.signals.push_back({end_of_hold(episode, event), event.signal.value_or(0)});
}

/// A lease has the slot of its grant. Any other one has run (--once), and is what "release --slot" forgets: no hold.
bool History::forgets_slot(const Event& event) const {
  if (!event.who.lease || event.who.slot.empty()) return false;
  const auto hold = holds_.find(hold_key(event.who.owner, event.key));
  return hold == holds_.end() || episodes_[hold->second].who.slot != event.who.slot;
}

void History::released(const Event& event) {
  if (forgets_slot(event)) return;
  Episode& episode = open_hold(event);
  if (ends_rest(episode, event)) return;
  episode.end = Episode::End::kReleased;
  episode.ended = end_of_hold(episode, event);
  episode.kept = event.until;
  episode.held = event.held ? event.held : std::max<Duration>(*episode.ended - *episode.granted, 0s);
  put_end(episode, event);
}

void History::command_ended(const Event& event) {
  if (event.who.owner.empty()) return give_up(event, Episode::End::kUnlocked);
  Episode& episode = open_hold(event);
  episode.ended = end_of_hold(episode, event);
  put_end(episode, event);
}

void History::add(const Event& event) {
  note_clock(event);
  if (event.reentered) return;  // the hold is that of the run outside
  switch (event.kind) {
    case Event::Kind::kWaiting:
      open_wait(event).holder = event.holder;
      return;
    case Event::Kind::kUnreached:
      open_wait(event);
      return;
    case Event::Kind::kUnlocked:
      open_wait(event).end = Episode::End::kUnlocked;
      return;
    case Event::Kind::kGranted:
      return granted(event);
    case Event::Kind::kRenewed:
      return renewed(event);
    case Event::Kind::kLost:
      return lost(event);
    case Event::Kind::kSignalled:
      return signalled(event);
    case Event::Kind::kReleased:
      return released(event);
    case Event::Kind::kEnded:
      return command_ended(event);
    case Event::Kind::kRevoked:
      return;  // its holder says when it has lost it
    case Event::Kind::kForceReleased:
      return force_released(event);
    case Event::Kind::kBusy:
      return give_up(event, Episode::End::kBusy);
    case Event::Kind::kWithdrawn:
      return give_up(event, Episode::End::kWithdrawn);
    case Event::Kind::kUnavailable:
      return give_up(event, Episode::End::kUnavailable);
    case Event::Kind::kRefused:
      return give_up(event, Episode::End::kRefused);
    case Event::Kind::kReached:
    case Event::Kind::kUnrenewed:
      return;
  }
}

void History::settle_leases(WallTime now) {
  for (const auto& [hold, until] : leases_) {
    Episode& episode = episodes_[holds_.at(hold)];
    if (episode.end != Episode::End::kHeld || until > now) continue;
    episode.end = Episode::End::kExpired;
    episode.ended = until;
    episode.held = std::max<Duration>(until - *episode.granted, 0s);
  }
}

/// An exclusive hold has ended when the next one begins, even without an event of its end.
void History::settle_unseen_ends() {
  std::map<std::string, Episode*> open;
  for (Episode& episode : episodes_) {
    if (!is_granted(episode)) continue;
    const std::string lock = episode.store + '\n' + episode.key;
    if (Episode* before = std::exchange(open[lock], nullptr); before != nullptr) {
      before->end = Episode::End::kUnseen;
      before->ended = *episode.granted;
    }
    const bool alone = episode.who.mode == Mode::kExclusive;
    if (alone && episode.end == Episode::End::kHeld) open[lock] = &episode;
  }
}

void History::finish(WallTime now) {
  settle_leases(now);
  std::stable_sort(episodes_.begin(), episodes_.end(),
                   [](const Episode& a, const Episode& b) { return a.begin() < b.begin(); });
  waits_.clear();
  holds_.clear();
  settle_unseen_ends();
}

AllTotals totals_of(const std::vector<Episode>& episodes) {
  AllTotals all;
  for (const Episode& episode : episodes) {
    Totals& totals = all[{episode.key, episode.store}];
    if (episode.end == Episode::End::kBusy) ++totals.busy;
    if (episode.end == Episode::End::kLost) {
      ++totals.lost;
      const WallTime at = episode.lost_at.value_or(episode.begin());
      totals.last_lost = std::max(totals.last_lost.value_or(at), at);
    }
    if (!is_granted(episode)) continue;
    ++totals.grants;
    note_end(episode, totals);
    totals.waits.push_back(episode.waited.value_or(0s));
    if (!episode.held) continue;
    totals.holds.push_back(*episode.held);
    if (!is_granted(totals.longest) || *episode.held > *totals.longest.held) totals.longest = episode;
  }
  for (auto& [lock, totals] : all) {
    std::sort(totals.waits.begin(), totals.waits.end());
    std::sort(totals.holds.begin(), totals.holds.end());
  }
  return all;
}

}  // namespace dlock
