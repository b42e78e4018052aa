// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "backends/redis/deployment/script_admin.h"
#include "backends/redis/native/store.h"

namespace dlock::redis {

/// The native layout for commands that supervise nothing.
class NativeAdmin final : public ScriptAdmin {
 public:
  NativeAdmin(std::unique_ptr<Deployment> deployment, std::string store, ReplicaDemand replicas, const Runtime& runtime)
      : ScriptAdmin(std::move(deployment), std::move(store), runtime), replicas_(replicas) {}

  Result<std::vector<Swept>> collect_garbage(bool dry_run) override;
  std::vector<Finding> diagnose() override;

 private:
  Result<GiveBack> take_for_ping(const LockName& name) override;
  void forget_ping(const LockName& name) override;
  Result<std::unique_ptr<ScriptStore>> open(const LockName& name) override;
  Result<NativeStore> store_of(const LockName& name);

  const ReplicaDemand replicas_;
};

}  // namespace dlock::redis
