// SPDX-License-Identifier: Apache-2.0
#include "cmd/wiring/take.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "cmd/options/backend_choice.h"
#include "cmd/show/contention.h"
#include "cmd/show/exit_status.h"
#include "cmd/show/locks.h"
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

/// Not one that names the holder and cannot ask it to end (--replace).
bool is_unreachable(const SupervisorState& s) {
  return s.outcome == Outcome::kRefused && s.error && s.error->code == ErrorCode::kUnavailable && !s.contention;
}

}  // namespace

/// Receivers of what happens: people, and the readers of the events (--events). A stock has a ledger of its own.
class LockTaking::Watchers {
 public:
  Watchers(const LockPlan& plan, const Runtime& runtime, RunObserver& people) : people_(people) {
    const bool recorded = plan.events.kind != EventPlace::Kind::kOff && !plan.sells();
    if (recorded) recorder_.emplace(plan, runtime, people);
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

Result<void> LockTaking::take(LockedCommand* command, SignalInbox& signals) {
  TRY(check_event_file(plan_.events));
  started_ = runtime_.clock.now();
  Progress progress(plan_.telling, plan_.supervision, runtime_);
  Watchers watchers(plan_, runtime_, progress);
  for (std::size_t i = 0; i < plan_.stores.size(); ++i) {
    const BackendUrl& url = plan_.stores[i];
    TRY_ASSIGN(store_, plan_.sells() ? open_stock_keeper(url, runtime_) : open_store(url, runtime_));
    TRY_ASSIGN(session_, open_locks(store_, plan_, getenv("DLOCK_HELD"), runtime_));
    progress.asks(store_.has_keeper && !plan_.sells() ? store_.name : "");
    supervise(command, signals, watchers);
    if (!is_unreachable(state_) || i + 1 == plan_.stores.size()) break;
    runtime_.log.notice(state_.error->message + "; falling back to " + plan_.stores[i + 1].redacted(), {"fallback"});
  }
  if (command && plan_.run_if_unavailable && is_unreachable(state_)) {
    runtime_.log.warn(state_.error->message + "; running WITHOUT the lock (--if-unavailable=run)", {"unlocked"});
    session_ = std::make_unique<UnlockedSession>();
    supervise(command, signals, watchers);
  }
  return {};
}

void LockTaking::supervise(LockedCommand* command, SignalInbox& signals, Watchers& watchers) {
  NoCommand nothing;
  SupervisionPolicy policy = plan_.supervision;
  policy.run_command = command != nullptr;
  RunObserver& observer = watchers.begin(store_);
  state_ = run_locked(runtime_.clock, policy, *session_, command ? *command : nothing, signals, observer);
  watchers.finish(state_);
  // A process that dies of a signal runs no destructors, and a keeper that does not answer must not be left behind.
  const bool in_order = state_.outcome == Outcome::kRan && !state_.release_unconfirmed;
  if (!in_order && state_.outcome != Outcome::kGranted) session_.reset();
}

int LockTaking::explain() const {
  if (state_.outcome == Outcome::kInterrupted) die_of(state_.die_of.value_or(SIGTERM));
  if (state_.outcome == Outcome::kLost) return exit_status(ErrorCode::kLost);
  if (state_.outcome == Outcome::kOverheld) return exit_status(ErrorCode::kOverheld);
  const Log log = log_about_store();
  const Error& why = *state_.error;
  if (why.code == ErrorCode::kBusy) return explain_busy(log);
  if (why.code != ErrorCode::kRepeated) return fail(log, why);
  // That the slot has ended well is no news: a cron job that says nothing sends no mail.
  const bool heard = plan_.sells() || log.style().verbose || isatty(STDERR_FILENO) || plan_.busy.repeated_status != 0;
  if (heard) log.notice(why.message, {error_name(why.code)});
  return plan_.busy.repeated_status;
}

/// After a fallback, what is advised is to be asked of the store that has answered.
Log LockTaking::log_about_store() const {
  const auto& all = plan_.stores;
  const auto used =
      std::find_if(all.begin(), all.end(), [&](const auto& url) { return url.redacted() == store_.name; });
  if (used == all.begin() || used == all.end()) return runtime_.log;
  return runtime_.log.with_store(backend_option(*used) + plan_.config_option);
}

int LockTaking::explain_busy(const Log& log) const {
  if (const auto told = tell_of_long_hold(log)) return *told;
  const int status = plan_.busy.status;
  // With -E 0 being busy is no news: a cron job that says nothing sends no mail.
  const bool silent = log.style().quiet || (status == 0 && !log.style().verbose);
  if (silent) return status;
  const auto& seen = state_.contention;
  const LockName& name = seen ? seen->name : plan_.locks.front().name;
  const auto waited = plan_.tries_once() ? std::nullopt : std::optional(runtime_.clock.now() - started_);
  if (plan_.sells()) log.error(*state_.error);
  else
    log.error(busy_error(name, seen, waited, runtime_.clock.wall()),
              seen ? about_holder("busy", *seen) : Log::About{"busy", name.text()});
  return status;
}

/// --warn-held: the exit status, if this is a hold that it speaks of. A store that does not know since when is not a
/// reason to believe that all is well.
std::optional<int> LockTaking::tell_of_long_hold(const Log& log) const {
  const auto& limit = plan_.busy.warn_held;
  if (!limit) return std::nullopt;
  const auto& seen = state_.contention;
  std::string why = "its holder could not be read";
  if (seen) {
    if (const auto error = long_hold_error(*seen, limit->after, runtime_.clock.wall())) {
      log.error(*error, about_holder("busy", *seen));
      return limit->status.value_or(plan_.busy.status);
    }
    if (knows_every_age(*seen)) return std::nullopt;
    why = "it is not known since when it is held";
  }
  const LockName& name = seen ? seen->name : plan_.locks.front().name;
  log.warn("--warn-held says nothing of " + name.text() + ": " + why);
  return std::nullopt;
}

}  // namespace dlock
