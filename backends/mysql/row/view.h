// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/mysql/connection/strategy_view.h"
#include "backends/mysql/row/store.h"
#include "lib/base/runtime.h"

namespace dlock::mysql {

/// strategy=unique and strategy=occupy for commands that supervise nothing. Waiters only poll, so they are not shown.
class RowView final : public StrategyView {
 public:
  /// `settings` and `servers` outlive it.
  RowView(const Settings& settings, Servers& servers, const Runtime& runtime)
      : settings_(settings), servers_(servers), runtime_(runtime), table_(settings.strategy, servers, runtime.clock) {}

  Result<LockState> inspect(const LockName& name) override;
  Result<std::vector<LockName>> names() override;
  Result<ForceReleased> force_release(const LockName& name, const LockState& shown, const std::string& by) override;
  Result<void> revoke(const LockName& name, const LockState& shown, const std::string& by) override;
  Result<HeldLock> renew(const LockName& name, const Owner& owner, Duration ttl) override;
  Result<void> release(const LockName& name, const Owner& owner) override;
  Result<std::vector<Swept>> sweep(bool dry_run) override;
  Result<AdminCommon::GiveBack> take_for_ping(const LockName& name) override;

 private:
  TimePoint soon() const { return runtime_.clock.now() + runtime_.patience; }

  const Settings& settings_;
  Servers& servers_;
  const Runtime runtime_;
  RowStore table_;
};

/// What was read between `asked` and `answered`, with its times on our clock.
LockState row_state(const RowStore::State& reading, const LockName& name, const std::string& store, WallTime asked,
                    WallTime answered);

}  // namespace dlock::mysql
