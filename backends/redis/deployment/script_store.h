// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "backends/redis/deployment/script_calls.h"
#include "lib/lock/lock_admin.h"

namespace dlock::redis {

/// One lock in one layout on one deployment, as ScriptLock asks about it while it is held and ScriptAdmin at any time:
/// each call is one script, with the errors of ScriptCalls. Single-threaded.
class ScriptStore {
 public:
  virtual ~ScriptStore() = default;

  /// Lost if `owner` does not hold it; Unavailable if too few replicas have confirmed it. `exact`: the lease may become
  /// shorter. Gives back the holder's token, 0 if there are none.
  virtual Result<FencingToken> renew(const Owner& owner, Duration ttl, bool exact, TimePoint until,
                                     Control* control) = 0;
  /// Takes `entry` out of the hold (nullptr: all entries) and out of the queue. Lost if it was not held.
  virtual Result<void> release(const Owner& owner, const Owner* entry, TimePoint until, Control* control) = 0;
  /// Who has freed the lock of `owner` by force with dlock, and why; empty if nobody has said so.
  virtual std::string forced_by(const Owner& owner, TimePoint until, Control* control) = 0;

  virtual Result<LockState> read_state(TimePoint until, Control* control) = 0;
  /// Conflict if the holders are not those in `shown`.
  virtual Result<void> force(const LockState& shown, const std::string& by, TimePoint until) = 0;
  /// Lost if a higher token was seen.
  virtual Result<void> fence(FencingToken token, TimePoint until) = 0;

  TimePoint sent() const { return calls_.sent(); }             ///< as of ScriptCalls
  bool was_answered() const { return calls_.was_answered(); }  ///< as of ScriptCalls

 protected:
  ScriptStore(ScriptStore&&) = default;
  /// `key` is the lock's; all that is asked goes to where it lies.
  ScriptStore(Deployment& deployment, const std::string& key, LockName name, std::string store, ReplicaDemand replicas,
              Clock& clock)
      : deployment_(deployment),
        name_(std::move(name)),
        store_(std::move(store)),
        calls_(deployment, key, name_.text(), store_, replicas, clock),
        clock_(clock) {}

  Deployment& deployment_;
  LockName name_;
  std::string store_;
  ScriptCalls calls_;
  Clock& clock_;
};

}  // namespace dlock::redis
