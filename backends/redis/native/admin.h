// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "backends/redis/deployment/deployment.h"
#include "backends/redis/native/store.h"
#include "lib/lock/lock_admin.h"

namespace dlock::redis {

/// The native layout for commands that supervise nothing. Each call is bounded by a few seconds.
class NativeAdmin final : public LockAdmin {
 public:
  NativeAdmin(std::unique_ptr<Deployment> deployment, std::string store, ReplicaDemand replicas, const Runtime& runtime)
      : deployment_(std::move(deployment)), store_(std::move(store)), replicas_(replicas), runtime_(runtime) {}

  const std::string& store() const override { return store_; }
  Result<LockState> inspect(const LockName& name) override;
  Result<LiveLocks> inspect_all() override;
  Result<ForceReleased> force_release(const LockName& name, const LockState& shown, const std::string& by) override;
  Result<void> check(const LockName& name, FencingToken token) override;
  Result<HeldLock> renew(const LockName& name, const Owner& owner, Duration ttl) override;
  Result<void> release(const LockName& name, const Owner& owner) override;
  Result<UniqueFd> fence(const LockName& resource, FencingToken token, const WaitPolicy& wait) override;
  Result<std::vector<Swept>> collect_garbage(bool dry_run) override;
  std::vector<Finding> diagnose() override;
  Result<Duration> ping() override;

 private:
  TimePoint soon() const;
  /// The store of one lock.
  Result<NativeStore> store_of(const LockName& name);

  std::unique_ptr<Deployment> deployment_;
  const std::string store_;
  const ReplicaDemand replicas_;
  const Runtime runtime_;
};

}  // namespace dlock::redis
