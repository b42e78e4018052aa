// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "backends/redis/deployment/deployment.h"
#include "backends/redis/deployment/layout.h"
#include "lib/base/runtime.h"
#include "lib/lock/admin_common.h"

namespace dlock::redis {

/// The part of LockAdmin that is the same for every layout on one deployment (native, Redisson). Each call is bounded
/// by a few seconds. Single-threaded.
class LayoutAdmin : public AdminCommon {
 public:
  const std::string& store() const final { return store_; }
  Result<LockState> inspect(const LockName& name) final;
  Result<ForceReleased> force_release(const LockName& name, const LockState& shown, const std::string& by) final;
  Result<void> revoke(const LockName& name, const LockState& shown, const std::string& by) final;
  Result<HeldLock> renew(const LockName& name, const Owner& owner, Duration ttl) final;
  Result<void> release(const LockName& name, const Owner& owner) final;

 protected:
  LayoutAdmin(std::unique_ptr<Deployment> deployment, std::string store, const Runtime& runtime)
      : AdminCommon(runtime.clock), deployment_(std::move(deployment)), store_(std::move(store)), runtime_(runtime) {}

  /// Those that a dlock holds or waits for.
  Result<KnownLocks> known_locks() final;
  std::vector<Result<LockState>> inspect_some(std::span<const LockName> names) final;
  virtual Result<std::unique_ptr<Layout>> open(const LockName& name) = 0;

  TimePoint soon() const;  ///< when a call gives up

  std::unique_ptr<Deployment> deployment_;
  const std::string store_;
  const Runtime runtime_;
};

}  // namespace dlock::redis
