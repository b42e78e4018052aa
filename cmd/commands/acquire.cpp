// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/commands.h"

#include <signal.h>

#include <algorithm>
#include <chrono>

#include "cmd/show/exit_status.h"
#include "cmd/show/report.h"
#include "cmd/wiring/recorder.h"
#include "cmd/wiring/take.h"
#include "lib/base/process.h"
#include "lib/lock/lock_session.h"

namespace dlock {
namespace {

constexpr Duration kUnprintedReleaseTime = std::chrono::seconds(5);

Error nobody_to_watch(const Options& options) {
  return {ErrorCode::kInvalid, "--watch-pid " + std::to_string(*options.watch_pid) + ": there is no such process",
          "nothing was locked"};
}

/// Opened before the wait, in which its number may go to another process. Not valid: none is watched.
Result<UniqueFd> open_watched(const Options& options) {
  if (!options.watch_pid) return UniqueFd();
  UniqueFd watched = open_process(*options.watch_pid);
  if (!watched.valid() || has_ended(watched)) return nobody_to_watch(options);
  return watched;
}

void record_released(const LockTaking& taking, const Runtime& runtime) {
  EventLog log(taking.plan().events, runtime.log);
  if (log.is_off()) return;
  for (const HeldLock& lock : taking.state().locks) {
    Event released = new_event(Event::Kind::kReleased, lock, taking.plan().locks.front(), runtime);
    released.who.lease = true;
    log.append(released);
  }
}

bool release(const LockTaking& taking, const Runtime& runtime) {
  const auto released = release_and_wait(taking.session(), runtime.clock, kUnprintedReleaseTime);
  if (released) record_released(taking, runtime);
  else runtime.log.error(released.error());
  return bool(released);
}

void release_unprinted(const LockTaking& taking, const Runtime& runtime) {
  if (!release(taking, runtime)) return;
  runtime.log.warn("the lock on " + taking.plan().locks.front().name.text() +
                   " was released, because its handle could not be printed");
}

/// It would end with this lease, long before those around it believe; a keeper that watches a process is one of those
/// inside.
bool shortens_hold_around(const LockTaking& taking) {
  const auto& locks = taking.state().locks;
  const bool inside = std::any_of(locks.begin(), locks.end(), [](const HeldLock& lock) { return lock.reentered; });
  return inside && (!taking.plan().lease->watch_pid || !taking.store().has_keeper);
}

int leave_hold_around(const LockTaking& taking, const Runtime& runtime) {
  if (release_and_wait(taking.session(), runtime.clock, kUnprintedReleaseTime)) record_released(taking, runtime);
  return fail(runtime.log, {ErrorCode::kUnsupported, "the lock is already held by an outer command",
                            "take leases outside of 'dlock run', or let the command keep its lock"});
}

/// All but the end of the last line, which comes when the rest is written: who reads lines takes none before that.
/// `began`: before it was left, which is when the ttl begins where the store gave less until then.
Result<void> print_handle(const Options& options, const SupervisorState& s, TimePoint began, const Runtime& runtime,
                          Output& out) {
  std::optional<WallTime> until;
  if (!options.watch_pid) {
    const TimePoint end = s.deadline && s.lease >= options.ttl ? *s.deadline : began + options.ttl;
    until = runtime.clock.wall() + std::chrono::duration_cast<std::chrono::microseconds>(end - runtime.clock.now());
  }
  std::string text = granted_text(options, "dlock.acquire/2", s.locks, until);
  text.pop_back();
  return out.write_in_time(text);
}

/// Where a script evaluates what is printed.
void tell_eval(const Options& options, int status, Output& out) {
  if (options.shell) (void)out.write_in_time(status_for_eval(status));
}

int acquire(const Options& options, const Runtime& runtime, Output& out) {
  const auto watched = open_watched(options);
  if (!watched) return fail(runtime.log, watched.error());
  auto signals = ProcessSignals::open();
  if (!signals) return fail(runtime.log, signals.error());
  LockTaking taking(options, runtime);
  if (const auto taken = taking.take(nullptr, *signals); !taken) return fail(runtime.log, taken.error());
  const SupervisorState& s = taking.state();
  if (s.outcome == Outcome::kInterrupted) tell_eval(options, 128 + s.die_of.value_or(SIGTERM), out);
  if (s.outcome != Outcome::kGranted) return taking.explain();

  if (shortens_hold_around(taking)) return leave_hold_around(taking, runtime);
  const auto is_gone = [&] { return watched->valid() && has_ended(*watched); };
  const TimePoint began = runtime.clock.now();
  const auto detached = is_gone() ? Result<void>() : taking.session().detach(*taking.plan().lease);
  if (!detached) return fail(runtime.log, detached.error());
  if (is_gone()) {
    (void)release(taking, runtime);
    return fail(runtime.log, nobody_to_watch(options));
  }
  if (const auto printed = print_handle(options, s, began, runtime, out); !printed) {
    const int status = fail(runtime.log, printed.error());
    release_unprinted(taking, runtime);
    return status;
  }
  (void)out.write_in_time("\n");  // a reader that is gone by now has what it wanted
  return 0;
}

}  // namespace

int acquire_command(const Options& options, const Runtime& runtime, Output& out) {
  const int status = acquire(options, runtime, out);
  if (status != 0) tell_eval(options, status, out);
  return status;
}

int wait_command(const Options& options, const Runtime& runtime) {
  auto signals = ProcessSignals::open();
  if (!signals) return fail(runtime.log, signals.error());
  LockTaking taking(options, runtime);
  if (const auto taken = taking.take(nullptr, *signals); !taken) return fail(runtime.log, taken.error());
  return taking.state().outcome == Outcome::kGranted ? 0 : taking.explain();
}

}  // namespace dlock
