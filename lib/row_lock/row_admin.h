// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/base/runtime.h"
#include "lib/lock/admin_common.h"
#include "lib/row_lock/record_store.h"

namespace dlock {

/// The locks of row_lock.h, for commands that supervise nothing; what else a store has of its own (fence, doctor,
/// setup), its class adds.
class RowAdmin : public AdminCommon {
 public:
  const std::string& store() const final { return locks_->store(); }

  Result<LockState> inspect(const LockName& name) override;
  Result<ForceReleased> force_release(const LockName& name, const LockState& shown, const std::string& by) override;
  Result<void> revoke(const LockName& name, const LockState& shown, const std::string& by) override;
  Result<HeldLock> renew(const LockName& name, const Owner& owner, Duration ttl) override;
  Result<void> release(const LockName& name, const Owner& owner) override;
  /// What has ended without a release, and what the store remembers of locks that were not taken for a day.
  Result<std::vector<Swept>> collect_garbage(bool dry_run) override;

 protected:
  /// `locks`: of kLockSpace.
  RowAdmin(std::unique_ptr<Rows> locks, const Runtime& runtime)
      : AdminCommon(runtime.clock), runtime_(runtime), locks_(std::move(locks)) {}

  CallLimit soon() const { return {runtime_.clock.now() + runtime_.patience}; }

  const Runtime runtime_;
  const std::unique_ptr<Rows> locks_;

 private:
  /// One question for all of them, and one for who waits in the store's queue; inspect_some() is about its answer.
  Result<KnownLocks> known_locks() override;
  std::vector<Result<LockState>> inspect_some(std::span<const LockName> names) override;
  Result<Release> take_for_ping(const LockName& name) override;
  void forget_ping(const LockName& name) override;

  RecordStore lock(const LockName& name) { return RecordStore(*locks_, name, runtime_.clock); }
  LockState shown(const LockName& name, const RecordReading& reading) const;
  using Waiters = std::map<std::string, std::vector<Participant>>;
  Result<Waiters> all_waiters();

  struct Survey {
    std::map<LockName, Rows::Row> rows;
    std::int64_t now_us = 0;
    WallTime asked, answered;
    Waiters waiting;
  };
  Survey seen_;  ///< what known_locks() has found
};

}  // namespace dlock
