// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "backends/redis/deployment/deployment.h"
#include "backends/redis/redisson/store.h"
#include "lib/config/backend_url.h"
#include "lib/lock/lock_admin.h"

namespace dlock::redis {

/// Redisson's layout for commands that supervise nothing. Each call is bounded by a few seconds.
class RedissonAdmin final : public LockAdmin {
 public:
  RedissonAdmin(std::unique_ptr<Deployment> deployment, const BackendUrl& url, const Runtime& runtime);

  const std::string& store() const override { return store_; }
  Result<LockState> inspect(const LockName& name) override;
  /// Those that dlock holds or waits for: Redisson has no list of its own.
  Result<LiveLocks> inspect_all() override;
  Result<ForceReleased> force_release(const LockName& name, const LockState& shown, const std::string& by) override;
  Result<void> check(const LockName& name, FencingToken token) override;
  Result<HeldLock> renew(const LockName& name, const Owner& owner, Duration ttl) override;
  Result<void> release(const LockName& name, const Owner& owner) override;
  Result<UniqueFd> fence(const LockName& resource, FencingToken token, const WaitPolicy& wait) override;
  /// Nothing: what Redisson leaves for ever (token counters, queues) is the services' own.
  Result<std::vector<Swept>> collect_garbage(bool /*dry_run*/) override { return std::vector<Swept>{}; }
  std::vector<Finding> diagnose() override;
  Result<Duration> ping() override;

 private:
  TimePoint soon() const;
  /// The store of one lock.
  Result<RedissonStore> store_of(const LockName& name);

  std::unique_ptr<Deployment> deployment_;
  const RedissonKind kind_;
  const bool cluster_;
  const std::string store_;
  const ReplicaDemand replicas_;
  const Runtime runtime_;
};

/// Misconfigured for a URL that cannot be served; asks no server yet.
Result<std::unique_ptr<LockAdmin>> make_redisson_admin(const BackendUrl& url, const Runtime& runtime);

}  // namespace dlock::redis
