// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/backend.h"

#include "backends/zookeeper/admin.h"
#include "backends/zookeeper/lock/lock.h"

namespace dlock {

Result<std::unique_ptr<LockAdmin>> make_zookeeper_admin(const BackendUrl& url, const Runtime& runtime) {
  TRY_ASSIGN(auto ensemble, zookeeper::Ensemble::of(url, runtime.clock));
  return std::unique_ptr<LockAdmin>(std::make_unique<zookeeper::ZookeeperAdmin>(std::move(ensemble), runtime));
}

Result<std::unique_ptr<LockDriver>> keep_zookeeper_lock(const BackendUrl& url, const LockSpec& spec,
                                                        const Runtime& runtime) {
  TRY_ASSIGN(auto ensemble, zookeeper::Ensemble::of(url, runtime.clock));
  TRY_ASSIGN(auto directory, zookeeper::directory_of(ensemble.root(), spec.name));
  if (spec.fair && ensemble.recipe() == zookeeper::Recipe::kSimple) {
    return Error{ErrorCode::kUnsupported, "recipe=simple has no queue", "leave the option out, or use recipe=curator"};
  }
  if (spec.left_to.value_or(0) > 0) {
    return Error{ErrorCode::kUnsupported, "a lease on ZooKeeper is kept by no process that could see another one end",
                 "give it a --ttl instead, or use: dlock hold " + spec.name.typed()};
  }
  const bool stays = spec.left_to || spec.at_least > Duration(0) || spec.lock_delay > Duration(0);
  if (spec.take && stays) {
    TRY(zookeeper::check_leases(ensemble.recipe()));
  }
  TRY_ASSIGN(auto queues, zookeeper::queues_of(ensemble.recipe(), directory, spec.mode, spec.permits));
  return std::unique_ptr<LockDriver>(std::make_unique<zookeeper::ZookeeperLock>(
      std::move(ensemble), spec, std::move(directory), std::move(queues), runtime));
}

}  // namespace dlock
