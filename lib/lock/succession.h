// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "lib/base/result.h"
#include "lib/base/time.h"
#include "lib/lock/holder.h"
#include "lib/lock/lock_session.h"
#include "lib/lock/lock_spec.h"

namespace dlock {

/// The wait of one that replaces the holder, or is superseded by later ones (LockSpec::supersedes): what follows from a
/// look at the lock. The queue of the store is its order: it has to be one that serves who came first. Single-threaded.
class Succession {
 public:
  /// Asks these holders to end: LockAdmin::revoke().
  using Revoke = std::function<Result<void>(const LockState& holders, const std::string& by)>;

  /// `spec` outlives it.
  Succession(const LockSpec& spec, Revoke revoke) : spec_(spec), revoke_(std::move(revoke)) {}

  /// When a look is due, at the latest; nullopt: never.
  std::optional<TimePoint> look_at() const;

  /// After a look at `now`: the end of the wait, if a later one of this kind waits, or (behind_nobody) an earlier one
  /// of any, or the store has no queue. Else asks those holders that have not been asked. That it will not be done ends
  /// the wait: what the store refuses for good at once, what it may do later after a connect-timeout of such answers,
  /// and that a holder cannot be asked at the next look, since one that has just got the lock has perhaps not said yet
  /// who it is.
  std::optional<Refused> judge(const LockState& state, TimePoint now);
  /// There was no answer to a look at `now`.
  void missed(TimePoint now) { looked_at_ = now, unasked_.reset(); }
  /// At the end of the wait: why the holder in `state` has not been asked; nullptr: it has been.
  const Error* unasked(const LockState& state) const;
  /// The same of a look at a lock that was just granted.
  std::optional<Refused> judge_grant(const LockState& state) const { return refusal(state, true); }

 private:
  void note_earlier(const LockState& state);
  std::optional<Refused> refusal(const LockState& state, bool is_in) const;
  const Participant* successor(const LockState& state, bool is_in) const;
  Refused superseded(const Participant& by, LockState state) const;
  std::optional<Refused> ask_holders(const LockState& state, TimePoint now);
  std::optional<Refused> not_asked(const Error& why, const LockState& state, TimePoint now);

  const LockSpec& spec_;
  const Revoke revoke_;
  std::optional<TimePoint> looked_at_;
  std::map<std::string, FencingToken> asked_;  ///< owner -> token
  std::set<std::string> earlier_;              ///< owners of those that waited before we did

  struct Unasked {
    Error why;
    std::string owner;
    TimePoint since;
  };
  std::optional<Unasked> unasked_;  ///< of the last look
};

}  // namespace dlock
