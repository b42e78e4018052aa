// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/local/context.h"
#include "backends/local/fence_file.h"
#include "backends/local/leases.h"
#include "backends/local/slots.h"
#include "lib/lock/admin_common.h"

namespace dlock::local {

/// The locks of this machine, for commands that supervise nothing.
class LocalAdmin final : public AdminCommon {
 public:
  LocalAdmin(const BackendUrl& url, const Runtime& runtime)
      : AdminCommon(runtime.clock), context_(LocalContext::of(url, runtime)) {
    remember_in(slot_memory(context_), runtime.patience);
  }

  const std::string& store() const override { return context_.settings.store; }
  Result<LockState> inspect(const LockName& name) override;
  LiveLocks inspect_neighbours() override;
  Result<ForceReleased> force_release(const LockName& name, const LockState& shown, const std::string& by) override {
    return local::force_release(context_, name, shown, by);
  }
  Result<void> revoke(const LockName& name, const LockState& shown, const std::string& by) override {
    return local::revoke(context_, name, shown, by);
  }
  Result<HeldLock> renew(const LockName& name, const Owner& owner, Duration ttl) override {
    return local::renew_lease(context_, name, owner, ttl);
  }
  Result<void> release(const LockName& name, const Owner& owner) override {
    return local::release_lease(context_, name, owner);
  }
  Result<UniqueFd> fence(const LockName& resource, FencingToken token, const WaitPolicy& wait) override {
    return local::fence(context_, resource, token, wait);
  }
  Result<std::vector<Swept>> collect_garbage(bool dry_run) override;
  std::vector<Finding> diagnose() override;

 private:
  Result<KnownLocks> known_locks() override;
  std::vector<Result<LockState>> inspect_some(std::span<const LockName> names) override;
  Result<Release> take_for_ping(const LockName& name) override;
  LockState untouched(const LockName& name) const;
  Result<LockState> read_state(const LockName& name);

  LocalContext context_;
};

}  // namespace dlock::local
