// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "backends/redis/deployment/families.h"
#include "backends/redis/deployment/script_calls.h"
#include "lib/lock/lock_admin.h"
#include "lib/lock/lock_errors.h"

namespace dlock::redis {

/// The port of ScriptLock and ScriptAdmin to one lock in one layout: each call is one script, with the errors of
/// ScriptCalls. Single-threaded.
class ScriptStore {
 public:
  virtual ~ScriptStore() = default;

  /// Renews the lease of `owner` for `ttl`; shortens it only if `exact`. Returns the holder's token, 0 if the layout
  /// has none. Lost if `owner` does not hold the lock; Unavailable also if too few replicas have confirmed it.
  virtual Result<FencingToken> renew(const Owner& owner, Duration ttl, bool exact, TimePoint until,
                                     Control* control) = 0;
  /// Removes `entry` (nullptr: all entries) from the hold of `owner`, which ends with the last one, and from the queue.
  /// Lost if `owner` did not hold the lock.
  virtual Result<void> release(const Owner& owner, const Owner* entry, TimePoint until, Control* control) = 0;
  /// Who has freed the lock of `owner` by `dlock force-release`, and why; empty if there is no note of it.
  virtual std::string forced_by(const Owner& owner, TimePoint until, Control* control) = 0;

  /// The question who holds and waits, for a request that the caller sends; `asked`: when that was sent.
  virtual Command state_command() const = 0;
  Result<LockState> state_in(Reply reply, WallTime asked) {
    std::vector<Reply> replies;
    replies.push_back(std::move(reply));
    auto parts = calls_.answer_of(replies);
    if (!parts) return parts.error();
    return understood(*parts, asked);
  }
  Result<LockState> read_state(TimePoint until, Control* control) {
    const WallTime asked = clock_.wall();
    auto parts = calls_.run(state_command(), until, control);
    if (!parts) return parts.error();
    return understood(*parts, asked);
  }
  const std::string& key() const { return calls_.key(); }  ///< the server in charge of it has the lock
  /// Frees the lock by force and leaves the note `by`; where `shown` has no holder, takes unheard(shown) out of the
  /// queue. Conflict if they are not those in `shown`.
  virtual Result<void> force(const LockState& shown, const std::string& by, TimePoint until) = 0;
  /// Deletes data that is no lock: what data_to_drop() gives. Conflict if it is something else by now.
  Result<void> drop_data(const std::string& data, TimePoint until) {
    auto answer = calls_.run(drop_command(key(), data), until, nullptr);
    if (!answer) return answer.error();
    return answer->front().text == "freed" ? Result<void>() : other_holders(name_);
  }
  /// As LockAdmin::revoke().
  virtual Result<void> revoke(const LockState& /*shown*/, const std::string& /*by*/, TimePoint /*until*/) {
    return cannot_be_asked(name_, "Redisson's locks have no place for a word to their holder");
  }
  /// Who has asked for the lock back, and why, as of the last renew(); empty: nobody.
  const std::string& revoked() const { return revoked_; }
  /// Remembers `token` for the resource of this name. Lost if a higher one was shown before.
  virtual Result<void> fence(FencingToken token, TimePoint until) = 0;

  TimePoint sent() const { return calls_.sent(); }                  ///< as of ScriptCalls
  bool was_answered() const { return calls_.was_answered(); }       ///< as of ScriptCalls
  TimePoint unsettled_until() { return calls_.unsettled_until(); }  ///< as of ScriptCalls

 protected:
  ScriptStore(ScriptStore&&) = default;
  /// `key`: of the lock; all scripts go to the server in charge of it.
  ScriptStore(Deployment& deployment, const std::string& key, LockName name, std::string store, ReplicaDemand replicas,
              Clock& clock)
      : deployment_(deployment),
        name_(std::move(name)),
        store_(std::move(store)),
        calls_(deployment, key, name_.text(), store_, replicas, clock),
        clock_(clock) {}

  /// Of the answer to state_command(), which has just come.
  virtual Result<LockState> understood(const ScriptCalls::Answer& parts, WallTime asked) = 0;

  Deployment& deployment_;
  LockName name_;
  std::string store_;
  ScriptCalls calls_;
  Clock& clock_;
  std::string revoked_ = {};
};

}  // namespace dlock::redis
