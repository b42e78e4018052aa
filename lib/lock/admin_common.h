// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/lock/lock_admin.h"

namespace dlock {

/// Knowledge of a store about its locks before each of them was read.
struct KnownLocks {
  std::vector<LockName> names;                  ///< that may be live, in any order
  std::vector<UnreadableLock> unreadable = {};  ///< those whose names may not be read either
};

/// Whether an error of inspect() is one of that lock alone, so that others can be read all the same.
bool is_of_one_lock(const Error& error);

/// The live ones of `known`, which `inspect` looks at in sets: one answer for each name, up to the first error that is
/// not of one lock. That one ends it; a lock that may not be read is named as such.
using InspectSome = std::function<std::vector<Result<LockState>>(std::span<const LockName>)>;
Result<LiveLocks> inspect_each(KnownLocks known, const InspectSome& inspect);

/// The part of LockAdmin that is the same in every layout, made of what a layout says. Single-threaded.
class AdminCommon : public LockAdmin {
 public:
  Result<LiveLocks> inspect_all() final;
  /// In the memory; where there is none a slot is a lock by that name.
  Result<std::vector<Participant>> remembered(const LockName& key) final;
  Result<Participant> forget(const LockName& slot) final;
  Result<void> check(const LockName& name, FencingToken token) final;
  /// Only checks; the descriptor is empty: a server cannot keep other checks out while a command runs.
  Result<UniqueFd> fence(const LockName& resource, FencingToken token, const WaitPolicy& wait) override;
  Result<Duration> ping() final;

  using Release = std::function<Result<void>()>;

 protected:
  /// `clock` outlives it.
  explicit AdminCommon(Clock& clock) : clock_(clock) {}

  // --- what a layout says ---

  virtual Result<KnownLocks> known_locks() = 0;
  /// inspect() of each, with fewer round trips where the store can answer several questions at once.
  virtual std::vector<Result<LockState>> inspect_some(std::span<const LockName> names);
  /// Unsupported where holds have no tokens.
  virtual Result<void> check_has_tokens() const { return {}; }
  /// Takes the private lock `name`; returns how it is given back.
  virtual Result<Release> take_for_ping(const LockName& name) = 0;
  /// Removes what the store would remember of that lock.
  virtual void forget_ping(const LockName& /*name*/) {}

 private:
  TimePoint answer_by() const { return clock_.now() + patience_; }
  Result<LiveLocks> inspect_those(KnownLocks known);

  Clock& clock_;
};

}  // namespace dlock
