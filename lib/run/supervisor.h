// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/time.h"
#include "lib/lock/lock_session.h"

namespace dlock {

/// Treatment of the command when the lock is lost (--on-lost).
struct OnLost {
  enum class Kind { kTerm, kKill, kSignal };
  Kind kind = Kind::kTerm;
  int signal = 0;  ///< with kSignal: sent once, to the command and then to all its descendants; nothing else
};

/// The decisions of the supervisor: what to do on each event while a lock is taken, a command runs under it, and it is
/// released. Pure: no clock, no process, no session; run_locked.h carries them out. The phases:
///
///                 refused, session gone
///   Acquiring -----------------------------------------------------------------------> Done
///     |   |  signal to die of                       withdrawn, 1 s
///     |   +-----------------------> Withdrawing ---------------------------------------> Done (dies of it)
///     | granted
///     v                     lost; the lease near its end, and no renewal
///   Granted ----------------------------------------------------------------+
///     | everything that has come is read, enough of the lease is left       |
///     +--> start the command -----------------------------------------------+
///            | started                                                      |
///            v        command ended: released, or left as a lease           v
///         Running -----------------------------------------------------> Releasing --released, 5 s--> Done
///            |                                                                ^
///            | lost, or deadline - margin - kill_after; max-hold over         |
///            v        kill_after, or deadline - margin                        |
///         Ending ---------------------------------> Killing <-- from Running  |
///            |                                         |        and Ending:   |
///            |                                         |        guard killed  |
///            +-----------------------------------------+----------------------+
///                    the command and all its descendants are gone
///
/// With --on-lost signal a loss ends nothing, and the command goes on in Running. A lock that was asked for is then
/// held until its descendants are gone, too, or the lock is.
///
/// Even if the session hangs, crashes or stands still, a command whose lease is not renewed is gone before its
/// deadline.
enum class Phase {
  kAcquiring,
  kWithdrawing,
  kGranted,
  kRunning,
  kEnding,
  kKilling,
  kReleasing,
  kDone,
};

/// Choices of the user; constant while it lasts.
struct SupervisionPolicy {
  Duration ttl = std::chrono::seconds(30);
  Duration kill_after = std::chrono::seconds(5);
  OnLost on_lost;
  Duration at_least{0};  ///< counted from the grant: what is left of it after the command is a lease without a process
  std::optional<Duration> max_hold;  ///< counted from the grant: then the command is ended, whatever on_lost says
  bool run_command = true;           ///< false: Granted is the end (acquire, wait)
};

// Events besides SessionEvents.
struct SignalSeen {
  int number = 0;
  bool from_terminal = false;  ///< the kernel sent it to the whole foreground group: the command has it too
  bool from_command = false;   ///< sent by the command or a descendant of it
};
struct CommandStarted {};
struct CommandNotStarted {
  Error error;
  int exit_status = 71;  ///< 126, 127 or 71
};
struct CommandEnded {
  int wait_status = 0;        ///< as from waitpid(2)
  bool guard_killed = false;  ///< with its guard: what descends from it has nobody any more who sees it gone
};
struct Left {  ///< the answer to kLeave
  std::optional<Error> error;
};
struct TreeGone {};    ///< the command has ended and has no living descendants
struct TimePassed {};  ///< comes first after every wait: the clock is looked at before anything else

using SupervisorEvent =
    std::variant<TimePassed, SessionEvent, SignalSeen, CommandStarted, CommandNotStarted, CommandEnded, Left, TreeGone>;

struct Action {
  enum class Kind {
    kStartCommand,   ///< answered by CommandStarted or CommandNotStarted
    kSignalCommand,  ///< `signal` to the command alone
    kSignalTree,     ///< `signal` to the command and all its descendants
    kWithdraw,       ///< until `deadline`
    kRelease,        ///< until `deadline`
    kLeave,          ///< as a lease without a process, which ends at `deadline`; answered by Left
    kStopSelf,       ///< stop as the terminal asked, go on when continued
    kSayLost,        ///< one line: `revoked` or `lost_why`
    kSayOverheld,    ///< one line: max_hold is over
    kWarn,           ///< one line: `text`
  };
  Kind kind;
  int signal = 0;
  TimePoint deadline{};
  std::string text = {};
};

enum class Outcome { kRan, kGranted, kRefused, kLost, kOverheld, kNotStarted, kInterrupted };

/// All that the supervisor knows.
struct SupervisorState {
  Phase phase = Phase::kAcquiring;
  std::optional<TimePoint> deadline;  ///< the lease is believed until then; nullopt: until the session says otherwise
  Duration lease{0};                  ///< once granted: how long it is after each renewal
  std::vector<HeldLock> locks;
  TimePoint granted_at{};
  TimePoint ended_at{};
  std::optional<int> command_status;  ///< wait status, once it ended
  bool command_alive = false;
  bool lost = false;
  bool said_lost = false;     ///< the session has said so; otherwise the lease ran down
  std::string revoked;        ///< who has asked for it, as Participant::revoked; empty: it was not asked for
  bool overheld = false;      ///< the command was ended because max_hold was over
  std::string lost_why;       ///< before a loss: why the last renewal was not confirmed, if it was not
  bool session_over = false;  ///< said a final Lost or SessionGone: nothing more to release
  bool release_unconfirmed = false;
  std::optional<int> die_of;            ///< the signal that ended the waiting
  std::optional<TimePoint> kept_until;  ///< at_least: the hold goes on as a lease until then
  std::optional<TimePoint> alarm;       ///< the present phase's own point in time, see wake_at()
  std::optional<Error> error;           ///< why it was refused or not started
  std::optional<LockState> contention;
  int not_started_status = 0;
  Outcome outcome = Outcome::kRan;
};

/// Updates `s` for an event at `now`, and returns the actions to carry out, in order.
std::vector<Action> decide(const SupervisionPolicy& policy, SupervisorState& s, const SupervisorEvent& event,
                           TimePoint now);

/// When TimePassed is due at the latest.
std::optional<TimePoint> wake_at(const SupervisionPolicy& policy, const SupervisorState& s);

}  // namespace dlock
