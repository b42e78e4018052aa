// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/mysql/grip.h"
#include "backends/mysql/strategy_view.h"
#include "lib/base/runtime.h"

namespace dlock::mysql {

/// strategy=session and strategy=row for commands that supervise nothing.
class PinnedView final : public StrategyView {
 public:
  /// `settings` and `servers` outlive it.
  PinnedView(const Settings& settings, Servers& servers, const Runtime& runtime, Duration budget = kViewBudget)
      : settings_(settings), servers_(servers), runtime_(runtime), budget_(budget) {}

  Result<LockState> inspect(const LockName& name) override;
  Result<std::vector<LockName>> names() override;
  Result<ForceReleased> force_release(const LockName& name, const LockState& shown) override;
  Result<HeldLock> renew(const LockName& name, const Owner& owner, Duration ttl) override;
  Result<void> release(const LockName& name, const Owner& owner) override;
  Result<std::vector<Swept>> sweep(bool dry_run) override;
  Result<Duration> ping() override;

 private:
  TimePoint soon() const { return runtime_.clock.now() + budget_; }
  Result<std::optional<Party>> present_holder(const LockName& name, std::uint64_t* session);
  Error needs_connection() const;

  const Settings& settings_;
  Servers& servers_;
  const Runtime runtime_;
  const Duration budget_;
};

/// Whether the server still has the session `id`, as far as this account may see.
bool is_live_session(Servers& servers, std::uint64_t id, Clock& clock, TimePoint until);

}  // namespace dlock::mysql
