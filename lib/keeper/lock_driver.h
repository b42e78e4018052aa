// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/time.h"
#include "lib/keeper/control.h"
#include "lib/lock/lock_session.h"

namespace dlock {

/// The answers to a renewal. Unknown neither extends nor ends anything: the lease simply runs down.
struct RenewalRenewed {
  TimePoint deadline;
  std::string revoked = {};  ///< author and reason of a revocation, as it stands beside the lock; empty: none
};
struct RenewalHeld {};  ///< the lock is ours, and there is no lease to extend
struct RenewalLost {
  std::string why;
};
struct RenewalUnknown {
  std::string why;
};
/// The lock is ours, but was revoked: end the command, then release.
struct RevocationRequested {
  std::string why;
  std::string by = {};  ///< as in Lost
};
/// Of held() only: the connection that would have announced a loss has ended, so a renewal has to ask, now.
struct RenewalDue {
  std::string why;
};
using Renewal = std::variant<RenewalRenewed, RenewalHeld, RenewalLost, RenewalUnknown, RevocationRequested, RenewalDue>;

/// How a hold goes on without this process.
struct LeaveSpec {
  Duration ttl{0};       ///< it ends then, and its lock-delay follows; 0: only the lock-delay is left
  std::string ran = {};  ///< how the command under it has ended, for its record (Participant::ran); empty: it had none
};

/// One lock of a store, as its keeper program takes and keeps it (the loop around it: keeper_loop.h). The calls block,
/// each within a time of its own, and end early when `control` wants them to. Single-threaded. Sequence: acquire();
/// after Granted any number of renew() and held(); release() at the end.
class LockDriver {
 public:
  virtual ~LockDriver() = default;

  /// Tries, waits as the LockSpec says, and answers "who" while it waits. nullopt: control.stop_requested() ended it;
  /// nothing of ours is left in the store, or it leaves by itself. After Refused nothing is left either.
  virtual std::optional<std::variant<Granted, Refused>> acquire(Control& control) = 0;

  /// Makes the lease longer; never re-creates a lock. RenewalUnknown if there is no answer by `until`, or control wants
  /// an end.
  virtual Renewal renew(Control& control, TimePoint until) = 0;

  // A lock whose store sends nothing while it is held leaves these three.

  /// Adds the descriptors on which the store may send something while the lock is held.
  virtual void add_interest(std::vector<pollfd>& /*fds*/) const {}

  /// When held() has to be called even if no descriptor is ready; nullopt: never.
  virtual std::optional<TimePoint> wake_at() const { return std::nullopt; }

  /// Called when what add_interest() named is ready or wake_at() has come. RenewalHeld if nothing has changed.
  virtual Renewal held(TimePoint /*now*/) { return RenewalHeld{}; }

  /// The command has ended under the lock, with this wait status. Not called after any other end.
  virtual void command_ended(int /*wait_status*/) {}

  /// Releases the lock if the owner is still ours, compared in the same step. Repeats while the outcome is unknown;
  /// after such an outcome a lock that is gone counts as released. Lost if it was not ours any more, Unavailable if
  /// there is no confirmation by `until`; then it may be called again.
  virtual Result<void> release(TimePoint until) = 0;

  /// Leaves the hold as `spec` says, in one step where the store can. Unsupported if a lock of this kind cannot be held
  /// without a process. After a success, and after Unavailable, which may have done all, a part or nothing of it,
  /// release() may be called, and nothing else. After any other error it is not ours any more, or ends with this
  /// object.
  virtual Result<void> leave(const LeaveSpec& spec, TimePoint until) = 0;
};

}  // namespace dlock
