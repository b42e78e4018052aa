// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lib/lock/lock_admin.h"
#include "lib/lock/lock_session.h"

namespace dlock::testing {

/// One client of a store with both ports: what commands ask of it, and sessions for locks.
class Client final : public LockAdmin {
 public:
  Client(std::unique_ptr<LockAdmin> admin, OpenSession open) : admin_(std::move(admin)), open_(std::move(open)) {}

  Result<std::unique_ptr<LockSession>> open(const LockSpec& spec) { return open_(spec); }

  const std::string& store() const override { return admin_->store(); }
  Result<LockState> inspect(const LockName& name) override { return admin_->inspect(name); }
  Result<LiveLocks> inspect_all() override { return admin_->inspect_all(); }
  Result<std::vector<Participant>> remembered(const LockName& key) override { return admin_->remembered(key); }
  Result<Participant> forget(const LockName& slot) override { return admin_->forget(slot); }
  LiveLocks inspect_neighbours() override { return admin_->inspect_neighbours(); }
  Result<ForceReleased> force_release(const LockName& name, const LockState& shown, const std::string& by) override {
    return shown.name == name ? admin_->free_by_force(shown, by) : admin_->force_release(name, shown, by);
  }
  Result<void> revoke(const LockName& name, const LockState& shown, const std::string& by) override {
    return admin_->revoke(name, shown, by);
  }
  Result<void> check(const LockName& name, FencingToken token) override { return admin_->check(name, token); }
  Result<HeldLock> renew(const LockName& name, const Owner& owner, Duration ttl) override {
    return admin_->renew(name, owner, ttl);
  }
  Result<void> release(const LockName& name, const Owner& owner) override { return admin_->release(name, owner); }
  Result<UniqueFd> fence(const LockName& resource, FencingToken token, const WaitPolicy& wait) override {
    return admin_->fence(resource, token, wait);
  }
  Result<std::vector<Swept>> collect_garbage(bool dry_run) override { return admin_->collect_all_garbage(dry_run); }
  std::vector<Finding> diagnose() override { return admin_->diagnose(); }
  Result<Duration> ping() override { return admin_->ping(); }

 private:
  std::unique_ptr<LockAdmin> admin_;
  OpenSession open_;
};

}  // namespace dlock::testing
