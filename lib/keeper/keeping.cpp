// SPDX-License-Identifier: Apache-2.0
// The grant, and the lease while it is held.
#include "lib/keeper/keeping.h"

#include <utility>

#include "lib/base/human_text.h"
#include "lib/lock/lease.h"

namespace dlock {
namespace {

/// The supervisor, messages of the store, a timer, and who enters.
constexpr std::size_t kMostInterest = 5;
constexpr Duration kReasonBudget = std::chrono::seconds(1);  ///< to learn who has freed the lock

}  // namespace

void Keeping::run() {
  auto answer = lock_.acquire(link_);
  if (!answer) {
    link_.tell(Withdrawn{});
    return;
  }
  if (const auto* refused = std::get_if<Refused>(&*answer)) {
    link_.tell(*refused);
    return;
  }
  Granted& granted = *std::get_if<Granted>(&*answer);
  holds_ = !granted.locks.empty();
  if (granted.lease > Duration(0)) lease_ = granted.lease;
  kept_until_ = clock_.now() + spec_.at_least;
  schedule_ = RenewalSchedule(spec_, clock_.now(), granted.deadline, lease_);
  trace_grant(granted);
  if (!freshen(granted)) return;
  if (holds_ && !spec_.stock) entries_.open(granted, lease_, link_.take_entrance());
  if (!link_.stop_requested()) link_.tell(granted);
  taken_up_ = !holds_;
  heard_at_ = clock_.now();
  hold();
}

void Keeping::trace(const std::string& step) const { log_.verbose(spec_.name.text() + ": " + step); }

void Keeping::trace_grant(const Granted& granted) const {
  if (!log_.style().verbose || granted.locks.empty()) return;
  const HeldLock& lock = granted.locks.front();
  trace(std::string(lock.reentered ? "entered" : "granted") + " by " + lock.store + " after " +
        human_duration(clock_.now() - began_) + (lock.token.is_none() ? "" : ", token " + lock.token.text()) +
        (lock.slot.empty() ? "" : ", slot " + lock.slot) +
        (granted.deadline ? ", lease for " + human_duration(*granted.deadline - clock_.now()) : ""));
}

/// The answer was long in coming, so that little is left of the lease: false if it was lost by then.
bool Keeping::freshen(Granted& granted) {
  const TimePoint now = clock_.now();
  if (!holds_ || !granted.deadline || *granted.deadline - now >= least_to_tell(lease_)) return true;
  const Renewal answer = lock_.renew(link_, schedule_.gives_up_at(now));
  if (const auto* lost = std::get_if<RenewalLost>(&answer)) return lose(lost->why);
  if (const auto* renewed = std::get_if<RenewalRenewed>(&answer)) {
    schedule_.renewed(now, clock_.now(), renewed->deadline);
    granted.deadline = renewed->deadline;
  }
  return true;  // with what is left; the next renewal is soon
}

void Keeping::hold() {
  while (true) {
    if (std::exchange(spoken_, true)) link_.receive();
    if (auto guard = link_.take_started()) take_up(std::move(*guard));
    if (command_) command_->step(clock_.now());
    if (link_.take_heard()) {
      heard_at_ = clock_.now();
      asked_there_ = false;
    }
    if (const auto status = link_.take_ended()) {
      ran_ = wait_status_text(*status);
      lock_.command_ended(*status);
    }
    if (const auto until = link_.withdraw_by()) return withdraw(*until);
    if (const auto until = link_.release_by()) return release(*until);
    if (const auto spec = link_.take_detach()) return detach(*spec);
    if (link_.gone()) return end_orphans();
    entries_.answer_leaving(Released{});
    if (!stay_owner(act_at())) return after_loss();  // a server that is silent must not delay what is due then
    if (const auto at = unheard_at(); at && clock_.now() >= *at) {
      if (asked_there_) return take_back();
      asked_there_ = true;
      link_.ask_whether_there();
    }
    if (const auto at = act_at(); at && clock_.now() >= *at) return act_for_supervisor();
    if (!link_.has_news()) wait({}, earlier(look_at(), earlier(act_at(), unheard_at())));
  }
}

void Keeping::take_up(Guard guard) {
  if (guard.process.valid()) command_.emplace(processes_, std::move(guard), clock_.now(), spec_.renew_interval);
  taken_up_ = true;
}

std::optional<TimePoint> Keeping::look_at() const {
  return command_ ? std::optional(command_->wake_at()) : std::nullopt;
}

/// When a supervisor that has not taken the grant up is to be asked whether it is there, and then, when it is given up.
std::optional<TimePoint> Keeping::unheard_at() const {
  if (taken_up_) return std::nullopt;
  return heard_at_ + (asked_there_ ? spec_.ttl : spec_.ttl / 2);
}

/// When the command must have ended or be ended, by us if need be: a little after the supervisor does it, and before
/// anyone else may believe that the lock is free.
std::optional<TimePoint> Keeping::act_at() const {
  if (!command_ || !spec_.ends_command) return std::nullopt;
  const auto deadline = schedule_.deadline();
  const auto last = deadline ? std::optional(kill_at(*deadline, lease_)) : std::nullopt;
  const auto first = earlier(last, asked_at_ ? std::optional(*asked_at_ + spec_.kill_after) : std::nullopt);
  return first ? std::optional(*first + kill_margin(lease_) / 2) : std::nullopt;
}

/// Looks at the clock, renews what is due, hears what the store has said. False once the lock is not ours any more. An
/// attempt to renew ends at `limit`.
bool Keeping::stay_owner(std::optional<TimePoint> limit) {
  limit = earlier(limit, entries_.act_at());
  const TimePoint now = clock_.now();
  const bool news = std::exchange(news_, false);
  if (!holds_) return true;
  if (const auto why = schedule_.over(now)) return lose(*why);
  if (now >= schedule_.due()) return take(lock_.renew(link_, *earlier(schedule_.gives_up_at(now), limit)), now, true);
  const auto wake_at = lock_.wake_at();
  return news || (wake_at && now >= *wake_at) ? take(lock_.held(now), now, false) : true;
}

bool Keeping::take(const Renewal& answer, TimePoint began, bool asked) {
  if (const auto* lost = std::get_if<RenewalLost>(&answer)) {
    store_lost_ = true;
    return lose(why_lost(lost->why));
  }
  if (const auto* wanted = std::get_if<RevocationRequested>(&answer)) {
    revoke(*wanted);
    return true;
  }
  if (const auto* due = std::get_if<RenewalDue>(&answer)) {
    trace("renewed at once: " + due->why);
    schedule_.hasten(began);
    return true;
  }
  // A keeper that slept past the deadline must not bring a hold back to life that others had to believe ended.
  if (const auto why = schedule_.over(clock_.now())) return lose(*why);
  if (const auto* renewed = std::get_if<RenewalRenewed>(&answer)) {
    schedule_.renewed(began, clock_.now(), renewed->deadline);
    trouble_.clear();
    // Put together only for a reader: an idle holder costs its renewals.
    if (log_.style().verbose) trace("renewed, lease for " + human_duration(renewed->deadline - clock_.now()));
    tell(Renewed{renewed->deadline});
    if (const std::string& by = renewed->revoked; !by.empty()) revoke({{}, by});
  } else if (const auto* unknown = std::get_if<RenewalUnknown>(&answer)) {
    schedule_.unknown(began, unknown->why);
    if (link_.stop_requested()) return true;  // given up for what is wanted now; nothing is wrong with the store
    trace("renewal not confirmed: " + unknown->why + "; asked again in " + human_duration(renewal_retry(lease_)));
    if (trouble_ != unknown->why) tell(Unrenewed{trouble_ = unknown->why});
  } else if (asked) {
    schedule_.held(began);
  }
  return true;
}

/// The supervisor ends its command now, under a lease that is renewed until it is gone, and then releases.
void Keeping::revoke(const RevocationRequested& wanted) {
  if (asked_at_) return;
  asked_at_ = clock_.now();
  tell(Lost{wanted.why, false, wanted.by});
}

/// The command is not ended before that is known, if it can be known soon.
std::string Keeping::why_lost(const std::string& otherwise) {
  const std::string by = who_freed_(clock_.now() + std::min<Duration>(kReasonBudget, lease_ / 6));
  return by.empty() ? otherwise : forced_by(by);
}

bool Keeping::lose(const std::string& why) {
  if (!std::exchange(told_lost_, true)) tell(Lost{why});
  return false;
}

void Keeping::tell(const SessionEvent& event) {
  link_.tell(event);
  entries_.tell(event);
}

/// Until a message comes, or the store says something, or one of `others` is ready, or something is due.
void Keeping::wait(const std::vector<pollfd>& others, std::optional<TimePoint> until) {
  std::vector<pollfd> fds;
  fds.reserve(others.size() + kMostInterest);
  fds.assign(others.begin(), others.end());
  link_.add_interest(fds);
  const std::size_t own = fds.size();
  if (holds_) {
    lock_.add_interest(fds);
    until = earlier(earlier(until, schedule_.due()), earlier(schedule_.deadline(), lock_.wake_at()));
  }
  const std::size_t count = fds.size();
  entries_.add_interest(fds);
  clock_.wait(fds, earlier(until, entries_.wake_at()));
  spoken_ = own > others.size() && fds[own - 1].revents != 0;
  for (std::size_t i = own; i < count; ++i) news_ = news_ || fds[i].revents != 0;
  entries_.step();
}

/// The same where neither the supervisor nor the store is listened to, but what is in `fds`.
void Keeping::pause(std::vector<pollfd> fds, std::optional<TimePoint> until) {
  entries_.add_interest(fds);
  clock_.wait(fds, earlier(until, entries_.wake_at()));
  entries_.step();
}

}  // namespace dlock
