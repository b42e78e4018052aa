// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/base/time.h"
#include "lib/lock/fencing_token.h"
#include "lib/lock/holder.h"
#include "lib/lock/lock_name.h"
#include "lib/lock/lock_spec.h"
#include "lib/lock/owner.h"

namespace dlock {

/// One lock that has been granted.
struct HeldLock {
  LockName name;
  Owner owner;
  FencingToken token;
  std::string store;         ///< redacted URL of the store that granted it
  bool reentered = false;    ///< joined the hold of an ancestor
  std::string warning = {};  ///< a warning about this grant, for people; empty: none
  std::string parts = {};    ///< of a stock: "SEGMENT:QUANTITY ..."; empty: a lock
  std::string slot = {};     ///< of a permit (slots.h); empty: it has none
  bool bound = false;        ///< the store frees it when its keeper ends, whatever its deadline
  std::string secret = {};   ///< HeldClaim's: for DLOCK_HELD alone, never shown or stored
};

/// The lock is ours. With `deadline`, until then unless Renewed comes; without, until the session ends (the kernel
/// keeps it). `locks` is empty for a spec that takes nothing: the lock was free a moment ago.
struct Granted {
  std::vector<HeldLock> locks;
  std::optional<TimePoint> deadline;
  Duration lease{0};  ///< how long it is after each renewal, where the store gives less than the ttl; 0: the ttl
  pid_t keeper = 0;   ///< of the hold that was entered
};
/// The only thing that moves the deadline.
struct Renewed {
  TimePoint deadline;
};
/// A renewal was not confirmed. The session repeats it; the deadline stays unless Renewed comes.
struct Unrenewed {
  std::string why;
};
/// The store says that the lock is not ours any more, or asks for it back. Final, unless the session still holds
/// something (other locks, or the lock that is asked for): then the caller ends the command as after any loss, and
/// calls release().
struct Lost {
  std::string why;
  bool final = true;
  std::string by = {};  ///< who asks for it, as Participant::revoked; then `why` is empty
};
/// The lock was not granted: Busy (the store said so; `state` names the holder), Unavailable, Denied, ... Nothing is
/// left behind. Final.
struct Refused {
  Error error;
  std::optional<LockState> state;
};
/// Still waiting; these hold the lock and wait. The answer to ask_who(); also sent unasked where that is cheap.
struct Waiting {
  LockState state;
};
/// Still waiting, but the store has not answered for a while. Sent once for each outage.
struct Unreached {
  std::string why;
};
/// After Unreached: the store answers again.
struct Reached {};
/// The wait was given up on request; nothing is left in the queue, or it will leave by itself. Final.
struct Withdrawn {};
/// The store has confirmed the release. Final.
struct Released {};
/// The release was not confirmed in time: the lease ends by itself. Final.
struct ReleaseUnconfirmed {
  Error error;
};
/// The session itself is gone (its keeper died or broke the protocol): no further event will come, nothing renews any
/// more, and what was said last still counts. Final, or that of one of several locks: release() gives the others back.
/// Never Unavailable: it says nothing about the store.
struct SessionGone {
  std::string why;
  bool final = true;
  ErrorCode code = ErrorCode::kInternal;
};

using SessionEvent = std::variant<Granted, Renewed, Unrenewed, Lost, Refused, Waiting, Unreached, Reached, Withdrawn,
                                  Released, ReleaseUnconfirmed, SessionGone>;

/// Whether `event` reports a wait that goes on.
inline bool is_of_wait(const SessionEvent& event) {
  return std::holds_alternative<Waiting>(event) || std::holds_alternative<Unreached>(event) ||
         std::holds_alternative<Reached>(event);
}

/// How a lock goes on without the process that took it (dlock acquire).
struct DetachSpec {
  Duration ttl{0};                 ///< with no watched process: the lease ends after this
  std::optional<pid_t> watch_pid;  ///< the lock is kept until this process ends
};

/// Of the process that has a command and all its descendants below it. Borrowed; -1: what was started is not a keeper's
/// to end.
struct GuardHandles {
  int process = -1;   ///< a pidfd
  int farewell = -1;  ///< readable once nothing is left below it; if it has ended without that, it was killed
};

/// One lock (or several as one) being taken, held and given back: the seam between those who supervise a command and
/// the keeper of the lock: the kernel (backends/local), a keeper program (lib/keeper/keeper_session.h), a script
/// (tests).
///
/// The caller runs a poll loop:  acquire(); loop { next_event() until nullopt; wait for add_interest()/wake_at() }.
/// REQUIRES: acquire() once and first; release() and detach() only between Granted and a final event; withdraw() only
/// before Granted. A Granted that crosses a withdraw() on the way is given back by the session, which then says
/// Withdrawn. No call but detach() blocks for longer than a local system call; none may be made from another thread.
/// Destruction lets go of everything without a word: the safety net, not the way to release.
class LockSession {
 public:
  virtual ~LockSession() = default;

  virtual void acquire(TimePoint now) = 0;

  /// Leaves the queue. Withdrawn follows, by `deadline` at the latest.
  virtual void withdraw(TimePoint deadline) = 0;

  /// Gives the lock back if it is still ours. Released or ReleaseUnconfirmed follows, by `deadline` at the latest.
  virtual void release(TimePoint deadline) = 0;

  /// Asks whom we wait for; Waiting follows if that can be known. We ourselves are among its waiters, at our place.
  virtual void ask_who() = 0;

  /// Appends what to poll for, and says when to come back without it. Both hold until the next call of any other
  /// method.
  virtual void add_interest(std::vector<pollfd>& fds) const = 0;
  virtual std::optional<TimePoint> wake_at() const = 0;

  /// The next thing that happened, or nullopt. Does not block.
  virtual std::optional<SessionEvent> next_event(TimePoint now) = 0;

  /// A descriptor that the command should inherit because it keeps the lock held while it is open, or -1.
  virtual int inherited_fd() const { return -1; }
  /// The process that keeps the lock for us, or 0: a child that is none of the command's.
  virtual pid_t keeper_pid() const { return 0; }
  /// The same for several locks at once.
  virtual void add_inherited(std::vector<int>& fds) const {
    if (inherited_fd() >= 0) fds.push_back(inherited_fd());
  }
  virtual void add_keepers(std::vector<pid_t>& pids) const {
    if (keeper_pid() > 0) pids.push_back(keeper_pid());
  }

  /// Called once, after Granted, when the command has been started: a keeper ends what is below its guard if the
  /// supervisor does not.
  virtual void command_started(const GuardHandles& /*guard*/) {}

  /// Called at most once, before release(), when the command has ended under the lock: with this wait status.
  virtual void command_ended(int /*wait_status*/) {}

  /// Called at most once, at the end of a run whose lock was lost, in whatever way that was found out: nothing of the
  /// command is left that a keeper should end.
  virtual void command_over() {}

  /// Lets the lock go on without this process. Waits for the answer, up to 5 s. Only release() may follow, after a
  /// success: it gives back what is left. The end of this process settles it.
  virtual Result<void> detach(const DetachSpec& spec) = 0;
};

/// Where the sessions of one store come from: one for each lock. Unsupported if the store cannot do what the spec asks;
/// asks no server yet. It must outlive its sessions.
using OpenSession = std::function<Result<std::unique_ptr<LockSession>>(const LockSpec&)>;

// For callers that wait for nothing else: each drives one session to its answer on `clock`. Single-threaded; handles no
// signals. (The supervisor of a command has a loop of its own.)

/// acquire(), then waits until the session says Granted or Refused; for as long as its LockSpec allows. A session that
/// ends in any other way counts as Refused: Cancelled, Lost or Unavailable.
std::variant<Granted, Refused> acquire_and_wait(LockSession& session, Clock& clock);

/// release(), then waits at most `within` for its confirmation. Lost if it was no longer ours, Unavailable (or the
/// session's own reason) if it was not confirmed.
Result<void> release_and_wait(LockSession& session, Clock& clock, Duration within);

/// The next event, waited for until `until` at the latest (nullopt: for ever); nullopt if none came.
std::optional<SessionEvent> wait_for_event(LockSession& session, Clock& clock, std::optional<TimePoint> until);

}  // namespace dlock
