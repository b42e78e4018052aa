// SPDX-License-Identifier: Apache-2.0
#include "cmd/wiring/recorder.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "cmd/show/contention.h"
#include "cmd/show/progress.h"
#include "cmd/show/report.h"
#include "lib/base/users.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

/// A shorter wait is recorded by the event that ends it.
constexpr Duration kWorthTelling = 1s;

/// They end nothing, and a terminal sends many.
bool is_chatter(int signal) {
  return signal == SIGWINCH || signal == SIGCONT || signal == SIGTSTP || signal == SIGURG || signal == SIGCHLD;
}

void put_end_of_command(Event& event, const SupervisorState& s) {
  event.outcome = outcome_name(s);
  if (s.outcome == Outcome::kNotStarted) event.exit_code = s.not_started_status;
  if (!s.command_status || event.who.command.empty()) return;  // dlock hold runs none
  if (WIFSIGNALED(*s.command_status)) event.signal = WTERMSIG(*s.command_status);
  else event.exit_code = WEXITSTATUS(*s.command_status);
}

std::optional<Participant> first_holder(const std::optional<LockState>& state, const LockName& key) {
  if (!state || state->name != key || state->holders.empty()) return std::nullopt;
  return state->holders.front();
}

}  // namespace

Event new_event(Event::Kind kind, const LockName& key, const std::string& store, const std::string& reason,
                const Runtime& runtime) {
  const Self self = this_process();
  Event event;
  event.kind = kind;
  event.time = runtime.clock.wall();
  event.key = key.text();
  event.store = store;
  event.who.host = self.host;
  event.who.pid = self.pid;
  event.who.user = user_name(geteuid());
  event.who.reason = reason;
  return event;
}

Event new_event(Event::Kind kind, const LockSpec& spec, const std::string& store, const Runtime& runtime) {
  Event event = new_event(kind, spec.name, store, spec.reason, runtime);
  event.who.mode = spec.mode;
  event.who.command = spec.command;
  return event;
}

Event new_event(Event::Kind kind, const HeldLock& lock, const LockSpec& spec, const Runtime& runtime) {
  Event event = new_event(kind, spec, lock.store, runtime);
  event.key = lock.name.text();
  event.who.owner = lock.owner.text();
  event.who.token = lock.token;
  event.who.slot = lock.slot;
  event.reentered = lock.reentered;
  return event;
}

void record_of_others(Event::Kind kind, const LockName& name, const std::string& store,
                      const std::vector<Participant>& others, const Options& options, const Runtime& runtime) {
  EventLog log(options.events, runtime.log);
  if (log.is_off()) return;
  for (const Participant& participant : others) {
    Event event = new_event(kind, name, store, options.reason, runtime);
    event.who.owner = participant.owner;
    event.who.token = participant.token;
    event.who.mode = participant.mode;
    event.who.slot = participant.slot;
    event.holder = participant;
    log.append(event);
  }
}

void record_lease(Event::Kind kind, const std::string& store, const std::string& owner, FencingToken token,
                  const Options& options, const Runtime& runtime) {
  EventLog log(options.events, runtime.log);
  if (log.is_off()) return;
  const LockName& name = options.keys.front();
  Event event = new_event(kind, name, store, options.reason, runtime);
  if (name.is_slot()) event.key = name.key(), event.who.slot = name.slot();
  event.who.owner = owner;
  event.who.token = token;
  event.who.lease = true;
  if (kind == Event::Kind::kRenewed) {
    event.until = event.time + std::chrono::duration_cast<std::chrono::microseconds>(options.ttl);
  }
  log.append(event);
}

Recorder::Recorder(const LockPlan& plan, const Runtime& runtime, RunObserver& shown)
    : plan_(plan), runtime_(runtime), shown_(shown), log_(plan.events, runtime.log), started_(runtime.clock.now()) {}

void Recorder::begin(const std::string& store) {
  store_ = store;
  if (!said_waiting_) ask_at_ = started_ + kWorthTelling;
}

Event Recorder::event(Event::Kind kind, const LockSpec& spec) const { return new_event(kind, spec, store_, runtime_); }

Event Recorder::event(Event::Kind kind, const HeldLock& lock) const {
  Event event = new_event(kind, lock, plan_.locks.front(), runtime_);
  event.who.command_pid = command_;
  return event;
}

bool Recorder::waiting(TimePoint now) {
  const bool wanted = shown_.waiting(now);
  const bool due = ask_at_ && now >= *ask_at_;
  if (due) ask_at_.reset();
  return wanted || due;
}

std::optional<TimePoint> Recorder::wake_at() const { return earlier(shown_.wake_at(), ask_at_); }

void Recorder::told_who(const LockState& state, TimePoint now) {
  shown_.told_who(state, now);
  if (said_waiting_) return;
  said_waiting_ = true;
  ask_at_.reset();
  Event waits = event(Event::Kind::kWaiting, plan_.locks.front());
  waits.key = state.name.text();
  waits.waited = waited_until(now);
  if (!state.holders.empty()) waits.holder = state.holders.front();
  log_.append(waits);
}

void Recorder::unreached(const std::string& why, TimePoint now) {
  shown_.unreached(why, now);
  for (const LockSpec& spec : plan_.locks) {
    Event unreached = event(Event::Kind::kUnreached, spec);
    unreached.waited = waited_until(now);
    unreached.why = why;
    log_.append(unreached);
  }
}

void Recorder::reached() {
  shown_.reached();
  for (const LockSpec& spec : plan_.locks) log_.append(event(Event::Kind::kReached, spec));
}

void Recorder::granted(const SupervisorState& s) {
  shown_.granted(s);
  locks_ = s.locks;
  for (const HeldLock& lock : s.locks) {
    Event granted = event(Event::Kind::kGranted, lock);
    granted.waited = waited_until(s.granted_at);
    granted.who.lease = plan_.lease.has_value();
    if (plan_.lease && !plan_.lease->watch_pid) {
      granted.until = granted.time + std::chrono::duration_cast<std::chrono::microseconds>(plan_.lease->ttl);
    }
    log_.append(granted);
  }
  if (!s.locks.empty() || !plan_.locks.front().take) return;
  for (const LockSpec& spec : plan_.locks) log_.append(event(Event::Kind::kUnlocked, spec));
}

void Recorder::started(pid_t command) {
  shown_.started(command);
  command_ = command;
}

void Recorder::unrenewed(const std::string& why) {
  shown_.unrenewed(why);
  for (const HeldLock& lock : locks_) {
    Event unrenewed = event(Event::Kind::kUnrenewed, lock);
    unrenewed.why = why;
    log_.append(unrenewed);
  }
}

void Recorder::lost(const SupervisorState& s, pid_t command) {
  shown_.lost(s, command);
  why_signalled_ = "the lock was lost";
  for (const HeldLock& lock : locks_) {
    Event lost = event(Event::Kind::kLost, lock);
    lost.held = runtime_.clock.now() - s.granted_at;
    lost.why = loss_text(s);
    log_.append(lost);
  }
}

void Recorder::overheld(const SupervisorState& s, pid_t command) {
  shown_.overheld(s, command);
  why_signalled_ = "held for as long as --max-hold allows";
}

void Recorder::signalled(int signal, const SupervisorState& s) {
  shown_.signalled(signal, s);
  // KILL is sent again and again until nothing is left.
  if (signal == last_signal_ || is_chatter(signal)) return;
  last_signal_ = signal;
  for (const HeldLock& lock : locks_) {
    Event sent = event(Event::Kind::kSignalled, lock);
    sent.signal = signal;
    sent.held = runtime_.clock.now() - s.granted_at;
    sent.why = !why_signalled_.empty() ? why_signalled_ : signal == SIGKILL ? "its guard was killed" : "dlock got it";
    log_.append(sent);
  }
}

void Recorder::release_unconfirmed(const std::string& why, const SupervisorState& s) {
  shown_.release_unconfirmed(why, s);
  why_unconfirmed_ = "the release could not be confirmed: " + why;
}

void Recorder::finish(const SupervisorState& s) {
  if (s.outcome == Outcome::kGranted) return;  // whatever comes next is another call's
  if (s.granted_at == TimePoint{}) finish_asking(s);
  else finish_holding(s);
}

void Recorder::finish_asking(const SupervisorState& s) {
  const auto kind_of = [](const SupervisorState& state) {
    if (state.outcome == Outcome::kInterrupted) return Event::Kind::kWithdrawn;
    const ErrorCode code = state.error ? state.error->code : ErrorCode::kInternal;
    if (code == ErrorCode::kBusy) return Event::Kind::kBusy;
    return code == ErrorCode::kUnavailable ? Event::Kind::kUnavailable : Event::Kind::kRefused;
  };
  const Event::Kind kind = kind_of(s);
  for (const LockSpec& spec : plan_.locks) {
    // Where there are several keys, it is known which one was busy, as a rule.
    if (kind == Event::Kind::kBusy && s.contention && s.contention->name != spec.name) continue;
    Event end = event(kind, spec);
    end.waited = waited_until(runtime_.clock.now());
    if (kind == Event::Kind::kWithdrawn) end.signal = s.die_of;
    if (kind == Event::Kind::kBusy) end.holder = first_holder(s.contention, spec.name);
    if (s.contention && !s.contention->superseded_by.empty()) end.why = "superseded by " + s.contention->superseded_by;
    if (kind == Event::Kind::kUnavailable || kind == Event::Kind::kRefused) end.why = s.error->message;
    if (kind == Event::Kind::kRefused) end.outcome = error_name(s.error->code);
    log_.append(end);
  }
}

void Recorder::finish_holding(const SupervisorState& s) {
  const TimePoint now = runtime_.clock.now();
  for (const HeldLock& lock : locks_) {
    Event end = event(s.lost ? Event::Kind::kEnded : Event::Kind::kReleased, lock);
    end.held = now - s.granted_at;
    end.why = why_unconfirmed_;
    if (s.kept_until) {
      end.until = end.time + std::chrono::duration_cast<std::chrono::microseconds>(*s.kept_until - now);
    }
    put_end_of_command(end, s);
    log_.append(end);
  }
  if (!locks_.empty()) return;
  for (const LockSpec& spec : plan_.locks) {
    Event end = event(Event::Kind::kEnded, spec);
    put_end_of_command(end, s);
    log_.append(end);
  }
}

}  // namespace dlock
