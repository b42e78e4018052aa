// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/commands.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "cmd/show/exit_status.h"
#include "cmd/show/report.h"
#include "cmd/wiring/recorder.h"
#include "cmd/wiring/take.h"
#include "lib/lock/lock_session.h"

namespace dlock {
namespace {

constexpr Duration kGiveBackTime = std::chrono::seconds(5);

/// A typing mistake should not take a lock that is not watched.
Result<void> check_watched(const Options& options) {
  if (!options.watch_pid || kill(*options.watch_pid, 0) == 0 || errno == EPERM) return {};
  return Error{ErrorCode::kInvalid, "--watch-pid " + std::to_string(*options.watch_pid) + ": there is no such process",
               "nothing was locked"};
}

void record_released(const Options& options, const Taken& taken, const Runtime& runtime) {
  EventLog log(options.events, runtime.log);
  if (log.is_off()) return;
  for (const HeldLock& lock : taken.state.locks) {
    Event released = new_event(Event::Kind::kReleased, lock, options, runtime);
    released.who.lease = true;
    log.append(released);
  }
}

void give_back(const Options& options, const Taken& taken, const Runtime& runtime) {
  const auto released = release_and_wait(*taken.session, runtime.clock, kGiveBackTime);
  if (!released) return runtime.log.error(released.error());
  record_released(options, taken, runtime);
  runtime.log.warn("the lock on " + options.keys.front().text() +
                   " was released, because its handle could not be printed");
}

/// It would end with this lease, long before those around it believe; a keeper that watches a process is one of those
/// inside.
bool shortens_hold_around(const Options& options, const Taken& taken) {
  const auto& locks = taken.state.locks;
  const bool inside = std::any_of(locks.begin(), locks.end(), [](const HeldLock& lock) { return lock.reentered; });
  return inside && (!options.watch_pid || !taken.store.has_keeper);
}

int leave_hold_around(const Options& options, const Taken& taken, const Runtime& runtime) {
  if (release_and_wait(*taken.session, runtime.clock, kGiveBackTime)) record_released(options, taken, runtime);
  return fail(runtime.log, {ErrorCode::kUnsupported, "the lock is already held by an outer command",
                            "take leases outside of 'dlock run', or let the command keep its lock"});
}

/// All but the end of the last line, which comes when the rest is written: who reads lines takes none before that.
Result<void> print_handle(const Options& options, const Taken& taken, const Runtime& runtime, Output& out) {
  std::optional<WallTime> until;
  if (!options.watch_pid) {
    const Duration left = taken.state.deadline ? *taken.state.deadline - runtime.clock.now() : options.ttl;
    until = runtime.clock.wall() + std::chrono::duration_cast<std::chrono::microseconds>(left);
  }
  std::string text = granted_text(options, "dlock.acquire/2", taken.state.locks, until);
  text.pop_back();
  return out.write_in_time(text);
}

int acquire(const Options& options, const Runtime& runtime, Output& out) {
  if (const auto watched = check_watched(options); !watched) return fail(runtime.log, watched.error());
  auto signals = ProcessSignals::open();
  if (!signals) return fail(runtime.log, signals.error());
  auto taken = take_locks(options, runtime, Intent::kTake, nullptr, *signals);
  if (!taken) return fail(runtime.log, taken.error());
  if (taken->state.outcome != Outcome::kGranted) return explain_not_taken(options, runtime, *taken);

  if (shortens_hold_around(options, *taken)) return leave_hold_around(options, *taken, runtime);
  const auto detached = taken->session->detach({options.ttl, options.watch_pid});
  if (!detached) return fail(runtime.log, detached.error());
  if (const auto printed = print_handle(options, *taken, runtime, out); !printed) {
    const int status = fail(runtime.log, printed.error());
    give_back(options, *taken, runtime);
    return status;
  }
  (void)out.write_in_time("\n");  // a reader that is gone by now has what it wanted
  return 0;
}

}  // namespace

int acquire_command(const Options& options, const Runtime& runtime, Output& out) {
  const int status = acquire(options, runtime, out);
  // `eval "$(...)"` has the status of what it evaluates, and that of nothing is 0.
  if (status != 0 && options.shell) (void)out.write_in_time("(exit " + std::to_string(status) + ")\n");
  return status;
}

int wait_command(const Options& options, const Runtime& runtime) {
  auto signals = ProcessSignals::open();
  if (!signals) return fail(runtime.log, signals.error());
  const auto taken = take_locks(options, runtime, Intent::kWaitUntilFree, nullptr, *signals);
  if (!taken) return fail(runtime.log, taken.error());
  return taken->state.outcome == Outcome::kGranted ? 0 : explain_not_taken(options, runtime, *taken);
}

}  // namespace dlock
