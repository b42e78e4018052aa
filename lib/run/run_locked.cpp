// SPDX-License-Identifier: Apache-2.0
#include "lib/run/run_locked.h"

#include "lib/run/holder_process.h"

namespace dlock {
namespace {

class Loop {
 public:
  Loop(Clock& clock, const SupervisionPolicy& policy, LockSession& session, LockedCommand& command,
       SignalInbox& signals, RunObserver& observer)
      : clock_(clock), policy_(policy), session_(session), command_(command), signals_(signals), observer_(observer) {}

  SupervisorState run() {
    session_.acquire(clock_.now());
    while (true) {
      while (take_in()) {
      }
      if (s_.phase == Phase::kDone) break;
      if (observe()) continue;
      wait();
    }
    command_.end_guard();
    if (s_.lost) session_.command_over();
    if (!told_waited_) observer_.waited();
    return std::move(s_);
  }

 private:
  /// The session, then the clock, then everything else. After a stop or a suspended machine a lease that is over must
  /// be seen before anything else is believed; but a keeper that went on renewing all the while has said so, and how
  /// long each renewal is good for. True: there was something, and what was done about it may have caused more.
  bool take_in() {
    busy_ = stopped_ = false;
    while (s_.phase != Phase::kDone) {
      auto event = session_.next_event(clock_.now());
      if (!event) break;
      busy_ = true;
      complete_holders_of(*event);
      if (s_.phase == Phase::kAcquiring) observe_wait(*event);
      if (const auto* granted = std::get_if<Granted>(&*event)) warn(granted->locks);
      const auto* unrenewed = std::get_if<Unrenewed>(&*event);
      if (unrenewed && !s_.lost) observer_.unrenewed(unrenewed->why);
      const bool asking = s_.granted_at == TimePoint{};
      handle(*event);
      if (asking && s_.granted_at != TimePoint{}) observer_.granted(s_);
    }
    // What was sent before there was a command is for us.
    if (s_.phase == Phase::kGranted && stopped_by_signals()) return true;
    handle(TimePassed{});
    // Signals before the command's end: one that came first is still forwarded, or dropped with the command.
    if (stopped_by_signals()) return true;
    if (const auto end = command_.ended()) {
      if (s_.phase == Phase::kRunning && !s_.lost) session_.command_ended(end->wait_status);
      handle(*end);
    }
    if (s_.phase == Phase::kRunning && command_.stops_the_job()) handle(SignalSeen{SIGTSTP, false, true});
    const bool started = s_.phase == Phase::kRunning || s_.phase == Phase::kEnding || s_.phase == Phase::kKilling;
    if (started && !s_.command_alive && command_.tree_gone()) handle(TreeGone{});
    return busy_ && s_.phase != Phase::kDone;
  }

  /// True: for who knows how long, so that the session and the clock come first again.
  bool stopped_by_signals() {
    while (const auto signal = signals_.next()) {
      if (signal->number == SIGCHLD) continue;
      const bool from_command = signal->number == SIGTSTP && s_.command_alive && command_.sent_by_it(signal->sender);
      const bool has_it = signal->from_terminal && (!s_.command_alive || command_.is_in_our_group());
      handle(SignalSeen{signal->number, has_it, from_command});
      if (stopped_) return true;
    }
    return false;
  }

  void complete_holders_of(SessionEvent& event) {
    auto* refused = std::get_if<Refused>(&event);
    if (auto* waiting = std::get_if<Waiting>(&event)) complete_holders(waiting->state.holders, clock_.wall());
    if (refused && refused->state) complete_holders(refused->state->holders, clock_.wall());
  }

  void observe_wait(const SessionEvent& event) {
    const TimePoint now = clock_.now();
    if (const auto* waiting = std::get_if<Waiting>(&event)) observer_.told_who(waiting->state, now);
    if (const auto* unreached = std::get_if<Unreached>(&event)) observer_.unreached(unreached->why, now);
    if (std::holds_alternative<Reached>(event)) observer_.reached();
  }

  void warn(const std::vector<HeldLock>& locks) {
    for (const HeldLock& lock : locks) {
      if (!lock.warning.empty()) observer_.warned(lock.warning);
    }
  }

  void handle(const SupervisorEvent& event) {
    const std::vector<Action> actions = decide(policy_, s_, event, clock_.now());
    // What is said about it may have to wait for a reader.
    for (const Action& action : actions) send_signal(action);
    for (const Action& action : actions) {
      busy_ = true;
      perform(action);
    }
  }

  void send_signal(const Action& action) {
    if (action.kind == Action::Kind::kSignalCommand) command_.signal(action.signal);
    if (action.kind == Action::Kind::kSignalTree) command_.signal_tree(action.signal);
  }

  void perform(const Action& action) {
    switch (action.kind) {
      case Action::Kind::kStartCommand:
        return start();
      case Action::Kind::kSignalCommand:
      case Action::Kind::kSignalTree:
        return observer_.signalled(action.signal, s_);
      case Action::Kind::kWithdraw:
        observer_.waited();
        return session_.withdraw(action.deadline);
      case Action::Kind::kRelease:
        return session_.release(action.deadline);
      case Action::Kind::kLeave:
        return leave(action.deadline);
      case Action::Kind::kStopSelf:
        stopped_ = true;
        stop_self();
        return command_.continued();
      case Action::Kind::kSayLost:
        return observer_.lost(s_, command_.pid());
      case Action::Kind::kSayOverheld:
        return observer_.overheld(s_, command_.pid());
      case Action::Kind::kWarn:
        return observer_.release_unconfirmed(action.text, s_);
    }
  }

  void start() {
    told_waited_ = true;
    observer_.waited();
    bool told = false;
    const auto tell = [&](const GuardHandles& guard) {
      told = true;
      session_.command_started(guard);
    };
    StartContext context{s_.locks, wall_deadline(), {}, {}, tell};
    session_.add_inherited(context.inherit);
    session_.add_keepers(context.keepers);
    const auto answer = command_.start(context);
    if (std::holds_alternative<CommandStarted>(answer)) {
      if (!told) session_.command_started({});
      observer_.started(command_.pid());
    }
    handle(answer);
  }

  void leave(TimePoint until) {
    const auto left = session_.detach({until - clock_.now(), std::nullopt});
    handle(Left{left ? std::nullopt : std::optional(left.error())});
  }

  std::optional<WallTime> wall_deadline() const {
    if (!s_.deadline) return std::nullopt;
    return clock_.wall() + std::chrono::duration_cast<std::chrono::microseconds>(*s_.deadline - clock_.now());
  }

  /// True: the session was asked something.
  bool observe() {
    if (s_.phase != Phase::kAcquiring || !observer_.waiting(clock_.now())) return false;
    session_.ask_who();
    return true;
  }

  void wait() {
    fds_.clear();
    fds_.push_back({signals_.fd(), POLLIN, 0});
    session_.add_interest(fds_);
    command_.add_interest(fds_);
    auto until = earlier(dlock::wake_at(policy_, s_), session_.wake_at());
    if (s_.phase == Phase::kAcquiring) until = earlier(until, observer_.wake_at());
    clock_.wait(fds_, until);
  }

  Clock& clock_;
  const SupervisionPolicy& policy_;
  LockSession& session_;
  LockedCommand& command_;
  SignalInbox& signals_;
  RunObserver& observer_;
  SupervisorState s_;
  std::vector<pollfd> fds_;
  bool told_waited_ = false;
  bool busy_ = false;
  bool stopped_ = false;
};

}  // namespace

SupervisorState run_locked(Clock& clock, const SupervisionPolicy& policy, LockSession& session, LockedCommand& command,
                           SignalInbox& signals, RunObserver& observer) {
  return Loop(clock, policy, session, command, signals, observer).run();
}

}  // namespace dlock
