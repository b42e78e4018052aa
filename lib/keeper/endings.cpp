// SPDX-License-Identifier: Apache-2.0
// The ways in which a hold ends: with the supervisor, beside it, and without it.
#include <algorithm>
#include <utility>

#include "lib/base/human_text.h"
#include "lib/keeper/keeping.h"
#include "lib/lock/lease.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

/// Less than the supervisor waits for the answer to a detach.
constexpr Duration kLeaveBudget = 4s;
/// For a release whose answer is not waited for. A lease is asked about until it has ended.
constexpr Duration kLoneReleaseBudget = 10s;
constexpr Duration kLateReleaseBudget = 1s;

SessionEvent end_of(const Result<void>& release) {
  if (release) return Released{};
  if (release.error().code == ErrorCode::kLost) return Lost{release.error().message};
  return ReleaseUnconfirmed{release.error()};
}

}  // namespace

/// A command is not started under this lock before the supervisor is continued, if ever.
void Keeping::take_back() {
  lose("dlock did not take it up for " + human_duration(spec_.ttl) + " (was it stopped?), so it was released");
  (void)lock_.release(clock_.now() + kLoneReleaseBudget);  // not confirmed: it is not renewed any more
}

/// It is stopped, or hangs, or is slow.
void Keeping::act_for_supervisor() {
  const bool asked = asked_at_.has_value();
  if (!asked) lose(schedule_.why(clock_.now()));
  end_command(Duration(0), true);
  if (!asked || !holds_ || store_lost_) return release_alone(false);
  outlast_entries();
  answer_end(lock_.release(clock_.now() + kLoneReleaseBudget));
}

/// The supervisor ends its command now, and says when that is done; so do those inside.
void Keeping::after_loss() {
  if (command_ && spec_.ends_command) outlast_command();
  outlast_entries();
}

void Keeping::outlast_command() {
  const TimePoint now = clock_.now();
  const TimePoint act_by = *earlier(now + spec_.kill_after + kill_margin(lease_) / 2, act_at());
  while (clock_.now() < act_by) {
    link_.receive();
    if (link_.over() || link_.release_by()) return;
    if (link_.gone()) break;
    std::vector<pollfd> fds;
    link_.add_interest(fds);
    pause(std::move(fds), act_by);
  }
  if (link_.gone()) link_.close();
  end_command(Duration(0), false);
}

/// A withdraw that crossed the grant.
void Keeping::withdraw(TimePoint until) {
  if (holds_) (void)lock_.release(until);  // not confirmed: it leaves by itself
  link_.tell(Withdrawn{});
}

/// The answer comes in time; a lock that may still be held is given back as soon as the store lets us,
/// and one that was entered as soon as those inside have left.
void Keeping::release(TimePoint until) {
  const bool entered = is_entered();
  const auto released = holds_ && !entered ? lock_.release(until) : Result<void>();
  answer_end(released);
  const bool unknown = !released && released.error().code == ErrorCode::kUnavailable;
  if (!unknown && !entered) return entries_.answer_leaving(Released{});
  link_.close();
  processes_.close_streams();
  release_alone();
}

bool Keeping::is_entered() {
  entries_.step();
  return holds_ && entries_.inside() > 0;
}

/// The hold is kept for those inside. What is lost ends with them.
void Keeping::outlast_entries() {
  entries_.outer_has_left();
  while (is_entered() && !told_lost_ && stay_owner()) {
    entries_.answer_leaving(Released{});
    wait();
  }
  while (is_entered()) pause({}, std::nullopt);
}

void Keeping::answer_end(const Result<void>& result) {
  trace(result ? "released" : "not released: " + result.error().message);
  link_.tell(end_of(result));
}

void Keeping::detach(const SupervisorLink::Detach& detach) {
  if (detach.watch_pid) return watch(*detach.watch_pid);
  if (is_entered()) return leave_to_entries(detach.ttl);
  entries_.close();  // a run inside finds a lease from now on
  const auto left = lock_.leave({detach.ttl, ran_}, clock_.now() + kLeaveBudget);
  answer_end(left);
  processes_.close_streams();  // no reader waits for the rest of the lock's work
  if (left) return stay_for_the_handle(clock_.now() + detach.ttl);
  const bool unknown = !left && left.error().code == ErrorCode::kUnavailable;
  if (unknown && spec_.at_least == Duration(0)) release_alone();
}

/// The rest of --at-least is the lease that they leave.
void Keeping::leave_to_entries(Duration ttl) {
  kept_until_ = clock_.now() + ttl;
  answer_end({});
  link_.close();
  processes_.close_streams();
  release_late();
}

/// A lease whose handle could not be printed is given back, by who has printed it and then ends.
void Keeping::stay_for_the_handle(TimePoint until) {
  while (!link_.gone() && clock_.now() < until) {
    if (const auto by = link_.release_by()) return answer_end(lock_.release(*by));
    std::vector<pollfd> fds;
    link_.add_interest(fds);
    clock_.wait(fds, until);
    link_.receive();
  }
}

/// Goes on without a supervisor, for as long as that process lives.
void Keeping::watch(pid_t pid) {
  const auto watched = processes_.watch(pid);
  if (!watched || !watched->valid()) {
    link_.tell(ReleaseUnconfirmed{watched ? no_such_process(pid) : watched.error()});
    link_.close();
    return release_alone();
  }
  processes_.close_streams();
  link_.tell(Released{});
  while (!has_ended(*watched)) {
    entries_.answer_leaving(Released{});
    if (std::exchange(spoken_, true)) link_.receive();
    if (const auto by = link_.release_by()) return release(*by);  // its handle could not be printed
    if (link_.gone()) link_.close();
    if (!stay_owner()) return after_loss();
    if (asked_at_) break;
    wait({{watched->get(), POLLIN, 0}});
  }
  release_alone();
}

void Keeping::end_orphans() {
  link_.close();
  if (command_) end_command(spec_.kill_after, true);
  else close_streams();
  release_late();
}

/// After --at-least, with or without us.
void Keeping::release_late() {
  outlast_entries();
  const TimePoint now = clock_.now();
  // Whether or not it had come to saying that the command runs.
  const bool kept = holds_ && !told_lost_ && now < kept_until_;
  if (ran_.empty()) ran_ = kEndedWithDlock;
  if (kept) (void)lock_.leave({kept_until_ - now, ran_}, now + kLoneReleaseBudget);  // else it lasts as long by itself
  else release_alone(false);
}

/// Returns when nothing of the command is left. Until then the lease is renewed if it is `ours`.
void Keeping::end_command(Duration kill_after, bool ours) {
  Orphans orphans(processes_, *command_, clock_.now(), {kill_after, ours ? lease_ : Duration(0), spec_.owner.text()});
  while (true) {
    link_.receive();  // its message changes nothing now, and must not wake us again
    entries_.answer_leaving(Released{});
    const TimePoint now = clock_.now();
    const auto deadline = schedule_.deadline();
    auto last = deadline ? std::optional(kill_at(*deadline, lease_)) : std::nullopt;
    if (!ours) last = now;
    orphans.step(now, last);
    if (orphans.gone()) break;
    say_untouchable(orphans);
    close_streams();
    // A server that does not answer must not keep the KILL from its time.
    const TimePoint kills_at = orphans.kills_at(last);
    ours = ours && stay_owner(kills_at > now ? std::optional(kills_at) : std::nullopt);
    std::vector<pollfd> ends;
    orphans.add_interest(ends);
    if (ours) wait(ends, orphans.wake_at(last));
    else pause(std::move(ends), orphans.wake_at(last));
  }
  close_streams();
}

void Keeping::close_streams() {
  if (!std::exchange(streams_closed_, true)) processes_.close_streams();
}

/// While stderr still has readers: the reason why the lock is not free.
void Keeping::say_untouchable(const Orphans& orphans) {
  if (!orphans.untouchable() || std::exchange(said_untouchable_, true)) return;
  log_.warn(spec_.name.text() + ": may not end process " + std::to_string(*orphans.untouchable()) +
            ", which the command started as another user; the lock is kept until it has ended");
}

/// A lease that has run down unconfirmed may still be there: it is asked about as well. `orderly`: the end that was
/// wanted; after another one the lock-delay runs.
void Keeping::release_alone(bool orderly) {
  outlast_entries();
  if (!holds_ || store_lost_) return;
  const TimePoint now = clock_.now();
  const TimePoint last = std::max(schedule_.deadline().value_or(now + kLoneReleaseBudget), now + kLateReleaseBudget);
  if (const auto by = entries_.leave_by()) {
    const auto released = lock_.release(std::min(*by, last));
    entries_.answer_leaving(end_of(released));
    if (released || released.error().code != ErrorCode::kUnavailable) return;
  }
  // There is no supervisor left to hear it.
  if (!orderly && spec_.lock_delay > Duration(0)) (void)lock_.leave({}, last);
  else (void)lock_.release(last);
}

}  // namespace dlock
