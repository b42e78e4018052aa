// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/toy/store.h"
#include "lib/base/runtime.h"
#include "lib/lock/lock_admin.h"

namespace dlock::toy {

/// As much of the port as `dlock inspect` and `dlock force-release` need; the rest is refused.
class ToyAdmin final : public LockAdmin {
 public:
  ToyAdmin(ToyStore locks, std::string store, const Runtime& runtime)
      : locks_(std::move(locks)), store_(std::move(store)), runtime_(runtime) {}

  const std::string& store() const override { return store_; }
  Result<LockState> inspect(const LockName& name) override {
    return locks_.read_state(name, store_, runtime_.clock.wall());
  }
  Result<LiveLocks> inspect_all() override { return refused(); }
  Result<ForceReleased> force_release(const LockName& name, const LockState& shown, const std::string& by) override;
  Result<void> check(const LockName& /*name*/, FencingToken /*token*/) override { return refused(); }
  Result<HeldLock> renew(const LockName& /*name*/, const Owner& /*owner*/, Duration /*ttl*/) override {
    return refused();
  }
  Result<void> release(const LockName& /*name*/, const Owner& /*owner*/) override { return refused(); }
  Result<UniqueFd> fence(const LockName& /*name*/, FencingToken /*token*/, const WaitPolicy& /*wait*/) override {
    return refused();
  }
  Result<std::vector<Swept>> collect_garbage(bool /*dry_run*/) override { return refused(); }
  std::vector<Finding> diagnose() override { return {}; }
  Result<Duration> ping() override { return refused(); }

 private:
  static Error refused() { return {ErrorCode::kUnsupported, "a toy does not do that", "use another backend"}; }

  const ToyStore locks_;
  const std::string store_;
  const Runtime runtime_;
};

}  // namespace dlock::toy
