// SPDX-License-Identifier: Apache-2.0
#include "cmd/wiring/take.h"

#include <algorithm>
#include <cstdlib>

#include "cmd/options/backend_choice.h"
#include "cmd/show/contention.h"
#include "cmd/show/exit_status.h"
#include "cmd/show/progress.h"
#include "cmd/wiring/recorder.h"
#include "lib/lock/lock_session.h"

namespace dlock {
namespace {

/// No lock at all (--if-unavailable=run): granted and released at once, without a store.
class UnlockedSession final : public LockSession {
 public:
  void acquire(TimePoint /*now*/) override { event_ = Granted{}; }
  void withdraw(TimePoint /*deadline*/) override { event_ = Withdrawn{}; }
  void release(TimePoint /*deadline*/) override { event_ = Released{}; }
  void ask_who() override {}
  void add_interest(std::vector<pollfd>& /*fds*/) const override {}
  std::optional<TimePoint> wake_at() const override { return std::nullopt; }
  std::optional<SessionEvent> next_event(TimePoint /*now*/) override { return std::exchange(event_, std::nullopt); }
  Result<void> detach(const DetachSpec& /*spec*/) override { return {}; }

 private:
  std::optional<SessionEvent> event_;
};

/// Stands in where nothing is to be run.
class NoCommand final : public LockedCommand {
 public:
  SupervisorEvent start(const StartContext& /*context*/) override { return CommandStarted{}; }
};

SupervisionPolicy make_policy(const Options& options, bool run_command) {
  SupervisionPolicy policy;
  policy.ttl = std::max(options.ttl, options.at_least);
  policy.kill_after = options.kill_after;
  policy.on_lost = options.on_lost;
  policy.at_least = options.at_least;
  policy.max_hold = options.max_hold;
  policy.run_command = run_command;
  return policy;
}

/// Not one that names the holder and cannot ask it to end (--replace).
bool is_unreachable(const SupervisorState& s) {
  return s.outcome == Outcome::kRefused && s.error && s.error->code == ErrorCode::kUnavailable && !s.contention;
}

/// Receivers of what happens: people, and the readers of the events (--events). A stock has a ledger of its own.
class Watchers {
 public:
  Watchers(const Options& options, const Runtime& runtime, Intent intent, RunObserver& people) : people_(people) {
    const bool recorded = options.events.kind != EventPlace::Kind::kOff && !options.stock;
    if (recorded) recorder_.emplace(options, runtime, intent, people);
  }

  RunObserver& begin(const Store& store) {
    if (!recorder_) return people_;
    recorder_->begin(store.name);
    return *recorder_;
  }
  void finish(const SupervisorState& s) {
    if (recorder_) recorder_->finish(s);
  }

 private:
  RunObserver& people_;
  std::optional<Recorder> recorder_;
};

void supervise(Taken& taken, const Options& options, const Runtime& runtime, LockedCommand* command,
               SignalInbox& signals, Watchers& watchers) {
  NoCommand nothing;
  const SupervisionPolicy policy = make_policy(options, command != nullptr);
  RunObserver& observer = watchers.begin(taken.store);
  taken.state = run_locked(runtime.clock, policy, *taken.session, command ? *command : nothing, signals, observer);
  watchers.finish(taken.state);
  // A process that dies of a signal runs no destructors, and a keeper that does not answer must not be left behind.
  const bool in_order = taken.state.outcome == Outcome::kRan && !taken.state.release_unconfirmed;
  if (!in_order && taken.state.outcome != Outcome::kGranted) taken.session.reset();
}

/// --warn-held: the exit status, if this is a hold that it speaks of. A store that does not know since when is not a
/// reason to believe that all is well.
std::optional<int> tell_of_long_hold(const Options& options, const Runtime& runtime, const SupervisorState& s) {
  if (!options.warn_held) return std::nullopt;
  std::string why = "its holder could not be read";
  if (s.contention) {
    if (const auto error = long_hold_error(*s.contention, options.warn_held->after, runtime.clock.wall())) {
      runtime.log.error(*error, about_holder("busy", *s.contention));
      return options.warn_held->status.value_or(options.conflict_exit_code);
    }
    const auto& holders = s.contention->holders;
    const auto told = [](const Participant& holder) { return holder.since.has_value(); };
    if (std::all_of(holders.begin(), holders.end(), told)) return std::nullopt;
    why = "it is not known since when it is held";
  }
  runtime.log.warn("--warn-held says nothing of " + (s.contention ? s.contention->name : options.keys.front()).text() +
                   ": " + why);
  return std::nullopt;
}

/// After a fallback, what is advised is to be asked of the store that has answered.
Log log_about(const Store& store, const Options& options, const Runtime& runtime) {
  const auto& all = options.backends;
  const auto used = std::find_if(all.begin(), all.end(), [&](const auto& url) { return url.redacted() == store.name; });
  if (used == all.begin() || used == all.end()) return runtime.log;
  return runtime.log.with_store(backend_option(*used) + options.same_config);
}

}  // namespace

Result<Taken> take_locks(const Options& options, const Runtime& runtime, Intent intent, LockedCommand* command,
                         SignalInbox& signals) {
  TRY(check_event_file(options.events));
  Taken taken;
  taken.started = runtime.clock.now();
  Progress progress(options, runtime);
  Watchers watchers(options, runtime, intent, progress);
  for (std::size_t i = 0; i < options.backends.size(); ++i) {
    TRY_ASSIGN(auto store, options.stock ? open_stock_keeper(options.backends[i], runtime)
                                         : open_store(options.backends[i], runtime));
    taken.store = std::move(store);
    TRY_ASSIGN(auto session, open_locks(taken.store, options, intent, getenv("DLOCK_HELD"), runtime));
    taken.session = std::move(session);
    progress.asks(taken.store.has_keeper && !options.stock ? taken.store.name : "");
    supervise(taken, options, runtime, command, signals, watchers);
    if (!is_unreachable(taken.state) || i + 1 == options.backends.size()) break;
    runtime.log.notice(taken.state.error->message + "; falling back to " + options.backends[i + 1].redacted(),
                       {"fallback"});
  }
  if (command && options.run_if_unavailable && is_unreachable(taken.state)) {
    runtime.log.warn(taken.state.error->message + "; running WITHOUT the lock (--if-unavailable=run)", {"unlocked"});
    taken.session = std::make_unique<UnlockedSession>();
    supervise(taken, options, runtime, command, signals, watchers);
  }
  return taken;
}

bool is_superseded(const Options& options, const SupervisorState& s) {
  return s.outcome == Outcome::kLost && is_replacement(s.revoked) && options.supersedes == Supersedes::kReplace;
}

int explain_not_taken(const Options& options, const Runtime& asked, const Taken& taken) {
  const Log log = log_about(taken.store, options, asked);
  const Runtime runtime{asked.clock, log, asked.patience};
  const SupervisorState& s = taken.state;
  if (s.outcome == Outcome::kInterrupted) die_of(s.die_of.value_or(SIGTERM));
  if (is_superseded(options, s)) return options.conflict_exit_code;
  if (s.outcome == Outcome::kLost) return exit_status(ErrorCode::kLost);
  if (s.outcome == Outcome::kOverheld) return exit_status(ErrorCode::kOverheld);
  if (s.error->code == ErrorCode::kRepeated) {
    runtime.log.notice(s.error->message, {error_name(s.error->code)});
    return options.repeated_exit_code;
  }
  if (s.error->code != ErrorCode::kBusy) return fail(runtime.log, *s.error);
  if (const auto told = tell_of_long_hold(options, runtime, s)) return *told;
  const int status = options.conflict_exit_code;
  // With -E 0 being busy is no news: a cron job that says nothing sends no mail.
  const bool silent = options.log.quiet || (status == 0 && !options.log.verbose);
  if (!silent && options.stock) {
    runtime.log.error(*s.error);
  } else if (!silent) {
    const LockName& name = s.contention ? s.contention->name : options.keys.front();
    const auto waited = options.nonblock ? std::nullopt : std::optional(runtime.clock.now() - taken.started);
    runtime.log.error(busy_error(name, s.contention, waited, runtime.clock.wall()),
                      s.contention ? about_holder("busy", *s.contention) : Log::About{"busy", name.text()});
  }
  return status;
}

}  // namespace dlock
