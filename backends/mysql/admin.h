// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "backends/mysql/connection/servers.h"
#include "backends/mysql/connection/settings.h"
#include "backends/mysql/connection/strategy_view.h"
#include "lib/base/runtime.h"

namespace dlock::mysql {

/// A database for commands that supervise nothing: what all strategies have in common, and the view of the one that the
/// URL names.
class MysqlAdmin final : public AdminCommon {
 public:
  MysqlAdmin(Settings settings, const Dial& dial, const Runtime& runtime);

  const std::string& store() const override { return settings_.store; }
  Result<LockState> inspect(const LockName& name) override { return view_->inspect(name); }
  Result<ForceReleased> force_release(const LockName& name, const LockState& shown, const std::string& by) override {
    return view_->force_release(name, shown, by);
  }
  Result<void> revoke(const LockName& name, const LockState& shown, const std::string& by) override {
    return view_->revoke(name, shown, by);
  }
  Result<HeldLock> renew(const LockName& name, const Owner& owner, Duration ttl) override {
    return view_->renew(name, owner, ttl);
  }
  Result<void> release(const LockName& name, const Owner& owner) override { return view_->release(name, owner); }
  Result<UniqueFd> fence(const LockName& resource, FencingToken token, const WaitPolicy& wait) override;
  Result<std::vector<Swept>> collect_garbage(bool dry_run) override { return view_->sweep(dry_run); }
  std::vector<Finding> diagnose() override;
  Result<std::string> set_up(bool print_only) override;

 private:
  Result<KnownLocks> known_locks() override;
  std::vector<Result<LockState>> inspect_some(std::span<const LockName> names) override;
  Result<GiveBack> take_for_ping(const LockName& name) override { return view_->take_for_ping(name); }
  void forget_ping(const LockName& name) override { view_->forget_ping(name); }
  TimePoint soon() const { return runtime_.clock.now() + runtime_.patience; }

  const Settings settings_;
  const Runtime runtime_;
  Servers servers_;
  std::unique_ptr<StrategyView> view_;
};

}  // namespace dlock::mysql
