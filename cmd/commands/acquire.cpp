// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/acquire.h"

#include <signal.h>

#include <cerrno>

#include "cmd/show/exit_status.h"
#include "cmd/show/granted_text.h"
#include "cmd/show/progress.h"
#include "cmd/wiring/take.h"

namespace dlock {
namespace {

/// A typing mistake should not take a lock that nobody watches.
Result<void> check_watched(const Options& options) {
  if (!options.watch_pid || kill(*options.watch_pid, 0) == 0 || errno == EPERM) return {};
  return Error{ErrorCode::kInvalid, "--watch-pid " + std::to_string(*options.watch_pid) + ": there is no such process",
               "nothing was locked"};
}

void give_back(const Options& options, const Taken& taken, const Runtime& runtime) {
  if (taken.store.has_keeper) return;  // its lease ends by itself
  const auto store = open_admin(taken.store.url, runtime);
  const auto* admin = store ? std::get_if<std::unique_ptr<LockAdmin>>(&*store) : nullptr;
  if (!admin) return;
  for (const HeldLock& lock : taken.situation.locks) {
    if (const auto released = (*admin)->release(lock.name, lock.owner); !released) runtime.log.error(released.error());
  }
  runtime.log.warn("the lock on " + options.keys.front().text() +
                   " was given back, since its handle could not be printed");
}

int acquire(const Options& options, const Runtime& runtime, Output& out) {
  if (const auto watched = check_watched(options); !watched) return fail(runtime.log, watched.error());
  auto signals = ProcessSignals::open();
  if (!signals) return fail(runtime.log, signals.error());
  Progress progress(options, runtime);
  auto taken = take_locks(options, runtime, Intent::kTake, nullptr, *signals, progress);
  if (!taken) return fail(runtime.log, taken.error());
  if (taken->situation.outcome != Outcome::kGranted) return explain_not_taken(options, runtime, *taken);

  const auto detached = taken->session->detach({options.ttl, options.watch_pid});
  if (!detached) return fail(runtime.log, detached.error());
  std::optional<WallTime> until;
  if (!options.watch_pid) {
    until = runtime.clock.wall() + std::chrono::duration_cast<std::chrono::microseconds>(options.ttl);
  }
  const int status = print(out, runtime.log, granted_text(options, "dlock.acquire/1", taken->situation.locks, until));
  if (status != 0) give_back(options, *taken, runtime);
  return status;
}

}  // namespace

int acquire_command(const Options& options, const Runtime& runtime, Output& out) {
  const int status = acquire(options, runtime, out);
  // `eval "$(...)"` has the status of what it evaluates, and that of nothing is 0.
  if (status != 0 && options.shell) (void)out.write("(exit " + std::to_string(status) + ")\n");
  return status;
}

int wait_command(const Options& options, const Runtime& runtime) {
  auto signals = ProcessSignals::open();
  if (!signals) return fail(runtime.log, signals.error());
  Progress progress(options, runtime);
  const auto taken = take_locks(options, runtime, Intent::kWaitUntilFree, nullptr, *signals, progress);
  if (!taken) return fail(runtime.log, taken.error());
  return taken->situation.outcome == Outcome::kGranted ? 0 : explain_not_taken(options, runtime, *taken);
}

}  // namespace dlock
