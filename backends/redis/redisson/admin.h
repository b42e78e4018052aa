// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "backends/redis/deployment/script_admin.h"
#include "backends/redis/redisson/store.h"
#include "lib/config/backend_url.h"

namespace dlock::redis {

/// Redisson's layout for commands that supervise nothing.
class RedissonAdmin final : public ScriptAdmin {
 public:
  RedissonAdmin(std::unique_ptr<Deployment> deployment, const BackendUrl& url, const Runtime& runtime);

  /// Removes nothing: what Redisson leaves for ever (token counters, queues) belongs to the services that use it.
  Result<std::vector<Swept>> collect_garbage(bool /*dry_run*/) override { return std::vector<Swept>{}; }
  std::vector<Finding> diagnose() override;

 private:
  Result<GiveBack> take_for_ping(const LockName& name) override;
  void forget_ping(const LockName& name) override;
  Result<std::unique_ptr<ScriptStore>> open(const LockName& name) override;
  Result<void> check_has_tokens() const override;
  Result<RedissonStore> store_of(const LockName& name);

  const RedissonKind kind_;
  const bool cluster_;
  const ReplicaDemand replicas_;
};

/// Misconfigured for a URL that cannot be served; asks no server yet.
Result<std::unique_ptr<LockAdmin>> make_redisson_admin(const BackendUrl& url, const Runtime& runtime);

}  // namespace dlock::redis
