// SPDX-License-Identifier: Apache-2.0
#include "lib/run/supervisor.h"

#include <signal.h>

#include <algorithm>

#include "lib/lock/lease.h"
#include "lib/run/signal_inbox.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;
using Kind = Action::Kind;

constexpr Duration kWithdrawBudget = 1s;
constexpr Duration kReleaseBudget = 5s;
constexpr Duration kKillAgain = 50ms;  // descendants may fork between the walk and the signal

std::optional<TimePoint> end_of_hold(const SupervisionPolicy& policy, const SupervisorState& s) {
  return policy.max_hold ? std::optional(s.granted_at + *policy.max_hold) : std::nullopt;
}

Duration kill_after(const SupervisionPolicy& policy, const SupervisorState& s) {
  return fitting_kill_after(policy.kill_after, s.lease);
}

/// When the command must be gone; none for a lock without a deadline.
std::optional<TimePoint> last_moment(const SupervisorState& s) {
  return s.deadline ? std::optional(kill_at(*s.deadline, s.lease)) : std::nullopt;
}

/// When the running command has to get TERM, unless a renewal comes first.
std::optional<TimePoint> term_due(const SupervisionPolicy& policy, const SupervisorState& s) {
  if (s.phase != Phase::kRunning || s.lost || !s.deadline) return std::nullopt;
  return term_at(*s.deadline, s.lease, kill_after(policy, s));
}

/// One decision being made. Each on_...() handles one kind of event in every phase.
class Decision {
 public:
  Decision(const SupervisionPolicy& policy, SupervisorState& s, TimePoint now) : policy_(policy), s_(s), now_(now) {}

  std::vector<Action> take() { return std::move(actions_); }

  void operator()(const TimePassed&) {
    switch (s_.phase) {
      case Phase::kWithdrawing:
        if (alarm_rang()) finish(Outcome::kInterrupted);
        return;
      case Phase::kGranted:
        if (enough_to_start()) start();
        else if (now_ >= *last_moment(s_)) lose_before_start("hardly any lease was left, and no renewal came");
        return;
      case Phase::kRunning:
        if (const auto due = term_due(policy_, s_); due && now_ >= *due) declare_lost("");
        else if (const auto end = end_of_hold(policy_, s_); end && now_ >= *end) end_overheld();
        return;
      case Phase::kEnding:
      case Phase::kKilling:
        if (alarm_rang()) kill_tree();
        return;
      case Phase::kReleasing:
        if (alarm_rang()) return is_kept_here() ? release() : release_failed("no answer in time");
        return;
      case Phase::kAcquiring:  // the session gives its answer by a deadline of its own
      case Phase::kDone:
        return;
    }
  }

  void operator()(const SessionEvent& event) { std::visit(*this, event); }

  void operator()(const Granted& granted) {
    if (s_.phase != Phase::kAcquiring) return;
    s_.deadline = granted.deadline;
    s_.lease = granted.lease > Duration(0) ? granted.lease : policy_.ttl;
    s_.locks = granted.locks;
    s_.granted_at = now_;
    if (!policy_.run_command) finish(Outcome::kGranted);
    else s_.phase = Phase::kGranted;
  }

  void operator()(const Renewed& renewed) {
    const bool asked = s_.said_lost && !s_.session_over;  // the lock is ours until the command has ended
    if (!s_.deadline || (s_.lost && !asked)) return;      // a loss that was declared stays declared
    s_.deadline = std::max(*s_.deadline, renewed.deadline);
    if (!s_.lost) s_.lost_why.clear();
  }

  void operator()(const Unrenewed& unrenewed) {
    if (!s_.lost) s_.lost_why = unrenewed.why;
  }

  void operator()(const Lost& lost) {
    s_.session_over = lost.final;
    s_.said_lost = s_.said_lost || !s_.lost;
    if (s_.revoked.empty()) s_.revoked = lost.by;
    switch (s_.phase) {
      case Phase::kAcquiring:
        finish_refused({ErrorCode::kLost, lost.why});
        return;
      case Phase::kGranted:
        lose_before_start(lost.why);
        return;
      case Phase::kRunning:
        if (!s_.lost) declare_lost(lost.why);
        else if (s_.session_over && waits_for_rest()) finish_released();  // nothing is held any more
        return;
      case Phase::kEnding:
      case Phase::kKilling:
        // The promised time to end in order stays, also when the store says only now that another may hold it.
        if (!s_.lost) lose(lost.why);
        return;
      case Phase::kReleasing:
        if (!lost.final && is_kept_here()) release();
        if (!lost.final) return;
        if (!s_.lost) lose(lost.why);
        finish_released();
        return;
      case Phase::kWithdrawing:
        finish(Outcome::kInterrupted);
        return;
      case Phase::kDone:
        return;
    }
  }

  void operator()(const Refused& refused) {
    if (s_.phase == Phase::kWithdrawing) return finish(Outcome::kInterrupted);
    if (s_.phase != Phase::kAcquiring) return;
    s_.contention = refused.state;
    finish_refused(refused.error);
  }

  void operator()(const Waiting& waiting) { s_.contention = waiting.state; }

  void operator()(const Unreached&) {}
  void operator()(const Reached&) {}

  void operator()(const Withdrawn&) {
    if (s_.phase == Phase::kWithdrawing) finish(Outcome::kInterrupted);
  }

  void operator()(const Released&) {
    if (s_.phase == Phase::kReleasing) finish_released();
  }

  void operator()(const ReleaseUnconfirmed& unconfirmed) {
    if (s_.phase == Phase::kReleasing) release_failed(unconfirmed.error.message);
  }

  void operator()(const SessionGone& gone) {
    s_.session_over = gone.final;
    switch (s_.phase) {
      case Phase::kAcquiring:
        finish_refused({gone.code, gone.why, "nothing was run"});
        return;
      case Phase::kWithdrawing:
        finish(Outcome::kInterrupted);
        return;
      case Phase::kGranted:
        lose_before_start(gone.why);
        return;
      case Phase::kRunning:
        // Renewals have ended. With a deadline the command has until shortly before it; without one, and where the
        // lock is bound to its keeper, nothing is certain any more.
        s_.lost_why = gone.why;
        if ((!s_.deadline || is_bound()) && !s_.lost) declare_lost(gone.why);
        else if (s_.session_over && waits_for_rest()) finish_released();
        return;
      case Phase::kReleasing:
        release_failed(gone.why);
        return;
      case Phase::kEnding:
      case Phase::kKilling:
        if (!s_.lost) s_.lost_why = gone.why;  // why the release is not confirmed
        return;
      case Phase::kDone:
        return;
    }
  }

  void operator()(const SignalSeen& signal) {
    if (signal.number == SIGTSTP) return stop(signal);
    switch (s_.phase) {
      case Phase::kAcquiring:
        if (is_harmless(signal.number)) return;
        s_.die_of = signal.number;
        s_.phase = Phase::kWithdrawing;
        s_.alarm = now_ + kWithdrawBudget;
        actions_.push_back({Kind::kWithdraw, 0, *s_.alarm});
        return;
      case Phase::kGranted:
        if (is_harmless(signal.number)) return;
        s_.die_of = signal.number;
        release();
        return;
      case Phase::kRunning:
      case Phase::kEnding:
      case Phase::kKilling:
        if (waits_for_rest()) pass_on_to_rest(signal);
        else if (!signal.from_terminal && s_.command_alive) actions_.push_back({Kind::kSignalCommand, signal.number});
        return;
      case Phase::kReleasing:  // bounded anyway; an abandoned one would keep others out until the lease ends
        if (!is_kept_here() || is_harmless(signal.number)) return;
        s_.die_of = signal.number;
        release();
        return;
      case Phase::kWithdrawing:
      case Phase::kDone:
        return;
    }
  }

  void operator()(const CommandStarted&) {}

  void operator()(const CommandNotStarted& failure) {
    s_.command_alive = false;
    s_.error = failure.error;
    s_.not_started_status = failure.exit_status;
    s_.ended_at = now_;
    release();
  }

  void operator()(const CommandEnded& ended) {
    s_.command_alive = false;
    s_.command_status = ended.wait_status;
    s_.ended_at = now_;
    if (ended.guard_killed) return kill_tree();
    const bool asked = s_.said_lost && !s_.session_over;
    if (s_.phase == Phase::kRunning && !asked) leave_or_release();  // else its descendants may still be alive
  }

  /// What cannot go on without this process, the lock of a file, is kept here.
  void operator()(const Left& left) {
    if (left.error && left.error->code == ErrorCode::kUnsupported) {
      s_.alarm = s_.kept_until;
      return;
    }
    if (left.error && left.error->code != ErrorCode::kLost) return release_failed(left.error->message);
    if (left.error) lose(left.error->message);
    finish_released();
  }

  void operator()(const TreeGone&) {
    const bool ending = s_.phase == Phase::kEnding || s_.phase == Phase::kKilling;
    if ((ending && !s_.command_alive) || waits_for_rest()) leave_or_release();
  }

 private:
  /// A longer hold is then for the run around this one to report.
  bool is_inside_another() const {
    return std::any_of(s_.locks.begin(), s_.locks.end(), [](const HeldLock& lock) { return lock.reentered; });
  }

  bool is_bound() const {
    return std::any_of(s_.locks.begin(), s_.locks.end(), [](const HeldLock& lock) { return lock.bound; });
  }

  /// Whether this process waits for the end of --at-least.
  bool is_kept_here() const { return s_.kept_until && s_.alarm == s_.kept_until; }

  /// The command has ended after somebody asked for the lock; what it has started goes on under it (--on-lost signal).
  bool waits_for_rest() const { return s_.phase == Phase::kRunning && !s_.command_alive; }

  /// There is no command any more that could pass it on.
  void pass_on_to_rest(const SignalSeen& signal) {
    if (!signal.from_terminal && is_an_end(signal.number)) actions_.push_back({Kind::kSignalTree, signal.number});
  }

  bool alarm_rang() const { return s_.alarm && now_ >= *s_.alarm; }

  bool enough_to_start() const { return !s_.deadline || *s_.deadline - now_ >= least_to_start(s_.lease); }

  void start() {
    s_.phase = Phase::kRunning;
    s_.command_alive = true;
    actions_.push_back({Kind::kStartCommand});
  }

  void stop(const SignalSeen& signal) {
    const bool command_has_it = signal.from_terminal || signal.from_command;
    if (s_.command_alive && !command_has_it) actions_.push_back({Kind::kSignalCommand, signal.number});
    actions_.push_back({Kind::kStopSelf, signal.number});
  }

  void lose(const std::string& why) {
    s_.lost = true;
    if (!why.empty()) s_.lost_why = why;
    else if (s_.lost_why.empty()) s_.lost_why = "no renewal came";
    actions_.push_back({Kind::kSayLost});
  }

  /// Between TERM and KILL, and before the lease ends.
  void set_kill_alarm() { s_.alarm = earlier(now_ + kill_after(policy_, s_), last_moment(s_)); }

  void terminate_tree() {
    if (now_ >= *s_.alarm) return kill_tree();
    s_.phase = Phase::kEnding;
    actions_.push_back({Kind::kSignalTree, SIGTERM});
  }

  /// The lock is held, and renewed, until the command is gone.
  void end_overheld() {
    s_.overheld = true;
    set_kill_alarm();
    actions_.push_back({Kind::kSayOverheld});
    terminate_tree();
  }

  void declare_lost(const std::string& why) {
    lose(why);
    set_kill_alarm();
    switch (policy_.on_lost.kind) {
      case OnLost::Kind::kSignal:
        actions_.push_back({Kind::kSignalTree, policy_.on_lost.signal});
        return;
      case OnLost::Kind::kKill:
        kill_tree();
        return;
      case OnLost::Kind::kTerm:
        return terminate_tree();
    }
  }

  void kill_tree() {
    s_.phase = Phase::kKilling;
    s_.alarm = now_ + kKillAgain;
    actions_.push_back({Kind::kSignalTree, SIGKILL});
  }

  void lose_before_start(const std::string& why) {
    s_.ended_at = now_;
    lose(why);
    release_or_finish();
  }

  /// The command is gone, and as far as it was to be ended, everything that descends from it.
  void leave_or_release() {
    if (s_.lost) return release_or_finish();
    const TimePoint kept_until = s_.granted_at + policy_.at_least;
    const bool ours = !s_.locks.empty() && !s_.session_over && !s_.overheld;
    if (!ours || now_ >= kept_until || is_inside_another()) return release();
    s_.phase = Phase::kReleasing;
    s_.kept_until = kept_until;
    actions_.push_back({Kind::kLeave, 0, kept_until});
  }

  void release_or_finish() {
    if (s_.session_over && s_.lost) finish_released();
    else release();
  }

  void release() {
    s_.phase = Phase::kReleasing;
    if (s_.session_over) return release_failed(s_.lost_why);
    const TimePoint budget = now_ + kReleaseBudget;
    // Never under a spent deadline: even when the lease is as good as over, one attempt is made.
    s_.alarm = s_.deadline ? std::clamp(*s_.deadline, now_ + 100ms, budget) : budget;
    actions_.push_back({Kind::kRelease, 0, *s_.alarm});
  }

  void release_failed(const std::string& why) {
    s_.release_unconfirmed = true;
    actions_.push_back({Kind::kWarn, 0, {}, why});
    finish_released();
  }

  void finish_released() {
    if (s_.error) finish(Outcome::kNotStarted);
    else if (s_.lost) finish(Outcome::kLost);
    else if (s_.overheld) finish(Outcome::kOverheld);
    else if (s_.die_of) finish(Outcome::kInterrupted);
    else finish(Outcome::kRan);
  }

  void finish_refused(Error error) {
    s_.error = std::move(error);
    finish(Outcome::kRefused);
  }

  void finish(Outcome outcome) {
    s_.outcome = outcome;
    s_.phase = Phase::kDone;
    s_.alarm.reset();
  }

  const SupervisionPolicy& policy_;
  SupervisorState& s_;
  const TimePoint now_;
  std::vector<Action> actions_;
};

}  // namespace

std::vector<Action> decide(const SupervisionPolicy& policy, SupervisorState& s, const SupervisorEvent& event,
                           TimePoint now) {
  Decision decision(policy, s, now);
  std::visit(decision, event);
  return decision.take();
}

std::optional<TimePoint> wake_at(const SupervisionPolicy& policy, const SupervisorState& s) {
  switch (s.phase) {
    case Phase::kGranted:
      return last_moment(s);
    case Phase::kRunning:
      return earlier(term_due(policy, s), end_of_hold(policy, s));
    case Phase::kAcquiring:
    case Phase::kWithdrawing:
    case Phase::kEnding:
    case Phase::kKilling:
    case Phase::kReleasing:
    case Phase::kDone:
      break;
  }
  return s.alarm;
}

}  // namespace dlock
