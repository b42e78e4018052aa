// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/time.h"
#include "lib/base/unique_fd.h"
#include "lib/lock/fencing_token.h"
#include "lib/lock/holder.h"
#include "lib/lock/key_memory.h"
#include "lib/lock/lock_name.h"
#include "lib/lock/lock_session.h"
#include "lib/lock/lock_spec.h"
#include "lib/lock/owner.h"

namespace dlock {

/// One finding of `dlock doctor`.
struct Finding {
  enum class Verdict { kOk, kWarn, kFail };
  Verdict verdict = Verdict::kOk;
  std::string what;                               ///< the thing that was looked at, and the value found
  std::string remedy;                             ///< the command or setting that mends it; empty when ok
  ErrorCode failure = ErrorCode::kMisconfigured;  ///< of a kFail: decides the exit status

  static Finding ok(std::string what);
  static Finding warn(std::string what, std::string remedy);
  static Finding fail(std::string what, std::string remedy, ErrorCode failure = ErrorCode::kMisconfigured);
  static Finding fail(const Error& error);
};

/// A lock that we may not read: whether it is in use is not known.
struct UnreadableLock {
  std::string name;  ///< of the lock, or of where the store keeps it
  Error why;
};

/// The locks that are in use.
struct LiveLocks {
  std::vector<LockState> locks;  ///< in canonical order
  std::vector<UnreadableLock> unreadable = {};
};

/// Result of force_release().
struct ForceReleased {
  std::vector<Participant> freed;  ///< empty: it was free already
};

/// The port of commands that supervise nothing: the questions to a store of locks, and the changes. (Taking a lock is
/// another port: lock_session.h, and for keeper programs lib/keeper/lock_driver.h.) One sentence here, one case in
/// tests/conformance. Not thread-safe. Every call is bounded by the backend's own timeouts.
class LockAdmin {
 public:
  virtual ~LockAdmin() = default;

  /// The redacted URL: names the store in messages and in DLOCK_STORE, and distinguishes two stores.
  virtual const std::string& store() const = 0;

  /// Holders and waiters of one lock; a free lock has none. Never changes anything.
  virtual Result<LockState> inspect(const LockName& name) = 0;

  /// Every lock that has a holder or a waiter, without slots of --once. What we may not read is named, never left out
  /// as if it were free, and ends nothing.
  virtual Result<LiveLocks> inspect_all() = 0;

  /// The slots of `key` that are remembered (--once): by whom, when and how each was run.
  virtual Result<std::vector<Participant>> remembered(const LockName& /*key*/) { return std::vector<Participant>(); }
  /// Forgets that `slot` (LockName::of_slot) has run. What was remembered; Lost if nothing was.
  virtual Result<Participant> forget(const LockName& slot);

  /// The live locks of other stores that people mistake for this one, each with its own store: for display only. Best
  /// effort; none by default.
  virtual LiveLocks inspect_neighbours() { return {}; }

  /// force_release() of what is `shown` of its lock, whose holders hear `by` wherever this store remembers it.
  Result<ForceReleased> free_by_force(const LockState& shown, const std::string& by);

  /// Frees the lock of exactly the holders in `shown`: Conflict if the holders are others by now.
  /// `by` is who does it, and why: "ops@ci-4: hangs since the release", or empty; for stores with a place of their own
  /// for it. Its holders are notified (Lost; with forced_by(by)), and whoever waits is granted the lock. Tokens go on
  /// growing. Where a lock-delay alone is shown, it ends. What is shown as Standing::kForeignData is deleted; where no
  /// holder is shown, unheard(shown) leave the queue.
  virtual Result<ForceReleased> force_release(const LockName& name, const LockState& shown, const std::string& by) = 0;

  /// Asks those in `shown` that hold the lock to end what runs under it, and then to release it: each hears `by`, who
  /// asks and why ("deploy@ci-4: release 2.5"), at its next renewal at the latest, and has the lock until it has
  /// obeyed. Asked again, it stays with what it heard first. Conflict if none of them holds it any more; Unsupported
  /// if they cannot be asked.
  virtual Result<void> revoke(const LockName& name, const LockState& shown, const std::string& by);

  /// revoke() for those in `shown` under whose hold a command runs; a lease under which none does is released. What
  /// cannot be released from here is freed by force, if that takes nothing from others.
  Result<void> ask_to_end(const LockState& shown, const std::string& by);

  /// Lost unless `token` belongs to a present holder.
  virtual Result<void> check(const LockName& name, FencingToken token) = 0;

  /// Makes a detached lease end `ttl` from now. Lost unless `owner` holds it; never re-creates a lock.
  virtual Result<HeldLock> renew(const LockName& name, const Owner& owner, Duration ttl) = 0;

  /// Releases a detached lease. Lost unless `owner` holds it; no other owner's lock is touched.
  virtual Result<void> release(const LockName& name, const Owner& owner) = 0;

  /// The check that a resource makes: remembers the highest token seen for `resource` (survives a crash of the machine)
  /// and answers Lost for a lower one, the same one again is fine. The descriptor keeps other checks of that resource
  /// out while it is open, so that what is done under it is over before a higher token is let through.
  virtual Result<UniqueFd> fence(const LockName& resource, FencingToken token, const WaitPolicy& wait) = 0;

  /// Sweeps what dead holders left, and what is over of what this store remembers; what is live is never touched.
  Result<std::vector<Swept>> collect_all_garbage(bool dry_run);
  /// The part of it that is about locks.
  virtual Result<std::vector<Swept>> collect_garbage(bool dry_run) = 0;

  /// The findings of `dlock doctor` about this store: reachable, fit, safe.
  virtual std::vector<Finding> diagnose() = 0;

  /// Acquires and releases a private lock; returns how long that took.
  virtual Result<Duration> ping() = 0;

  /// Creates what this store needs on its server, again without harm, and says what was done; with `print_only` says
  /// what would be. Empty: it needs nothing.
  virtual Result<std::string> set_up(bool /*print_only*/) { return std::string(); }

  /// Where this store remembers what is not the lock itself; without, it has places of its own. A call has `patience`.
  void remember_in(std::unique_ptr<KeyMemory> memory, Duration patience) {
    memory_ = std::move(memory);
    patience_ = patience;
  }

 protected:
  std::unique_ptr<KeyMemory> memory_;
  Duration patience_{0};
};

}  // namespace dlock
