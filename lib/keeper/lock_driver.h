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
};
struct RenewalHeld {};  ///< ours, with nothing to extend
struct RenewalLost {
  std::string why;
};
struct RenewalUnknown {
  std::string why;
};
/// Ours, and somebody asks for it: the command is to be ended, and after that the lock is given back.
struct RevocationRequested {
  std::string why;
};
using Renewal = std::variant<RenewalRenewed, RenewalHeld, RenewalLost, RenewalUnknown, RevocationRequested>;

/// One lock of a store, as its keeper program takes and keeps it (the loop around it: keeper_loop.h). The calls block,
/// each within a time of its own, and end early when `control` wants them to. Single-threaded. Sequence: acquire();
/// after Granted any number of renew() and changed(); release() at the end, once.
class LockDriver {
 public:
  virtual ~LockDriver() = default;

  /// Tries, waits as the LockSpec says, and answers "who" while it waits. nullopt: control.stop_requested() ended it;
  /// nothing of ours is left in the store, or it leaves by itself. After Refused nothing is left either.
  virtual std::optional<std::variant<Granted, Refused>> acquire(Control& control) = 0;

  /// Makes the lease longer; never re-creates a lock. Gives up at `until` or when control wants it: Unknown.
  virtual Renewal renew(Control& control, TimePoint until) = 0;

  /// What to poll for while the lock is held, besides the renewal's time: a message of the store.
  virtual void add_interest(std::vector<pollfd>& fds) const = 0;

  /// When held() wants to be called even though nothing is readable; nullopt: never.
  virtual std::optional<TimePoint> wake_at() const = 0;

  /// Called when what add_interest() named is ready or wake_at() has come. RenewalHeld if there is nothing to say.
  virtual Renewal held(TimePoint now) = 0;

  /// The command has ended under the lock, with this wait status. Not called after any other end.
  virtual void command_ended(int /*wait_status*/) {}

  /// Gives it back, compared with the owner in one step; asked again when the outcome is unknown; not there any more
  /// counts as released after such an outcome. Lost if it was not ours any more, Unavailable if nobody confirmed it by
  /// `until`.
  virtual Result<void> release(TimePoint until) = 0;

  /// Makes the lease `ttl` long from now and lets it go on without this process; its lock-delay follows it. 0: only the
  /// lock-delay is left.
  virtual Result<void> leave(Duration ttl, TimePoint until) = 0;

  /// After release(): it was given back as far as we go, and goes on for those that have entered it (re-entry) and live
  /// by what is ours. It wants to be renewed until held() says Lost: the last of them has left.
  virtual bool is_still_entered() const { return false; }
};

}  // namespace dlock
