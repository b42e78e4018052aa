// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "backends/mysql/connection/strategy_view.h"
#include "backends/mysql/lease/store.h"
#include "lib/base/runtime.h"

namespace dlock::mysql {

/// Who has freed the lease of `owner` by force, and why; empty if there is no note of it.
std::string freed_by(Servers& servers, const std::string& owner, Clock& clock, TimePoint until, Control* control);

/// strategy=lease for commands that supervise nothing.
class LeaseView final : public StrategyView {
 public:
  /// `servers` outlives it. `budget`: how long one call may take; nullopt: the runtime's patience.
  LeaseView(Servers& servers, std::string store, const Runtime& runtime, std::optional<Duration> budget = {})
      : servers_(servers), store_(std::move(store)), runtime_(runtime), budget_(budget.value_or(runtime.patience)) {}

  Result<LockState> inspect(const LockName& name) override;
  std::vector<Result<LockState>> inspect_some(std::span<const LockName> names) override;
  Result<std::vector<LockName>> names() override;
  Result<ForceReleased> force_release(const LockName& name, const LockState& shown, const std::string& by) override;
  Result<void> revoke(const LockName& name, const LockState& shown, const std::string& by) override;
  Result<HeldLock> renew(const LockName& name, const Owner& owner, Duration ttl) override;
  Result<void> release(const LockName& name, const Owner& owner) override;
  Result<std::vector<Swept>> sweep(bool dry_run) override;
  Result<AdminCommon::GiveBack> take_for_ping(const LockName& name) override;
  void forget_ping(const LockName& name) override;

 private:
  struct Change {
    LeaseRow before;
    LeaseRow after;
  };
  /// Reads the row and replaces it by the one that `make` returns; starts over if the row has changed in between, or if
  /// an answer was lost, which sets *unanswered. nullopt if `make` returns nullopt.
  template <typename Make>
  Result<std::optional<Change>> rewrite(const LockName& name, Make make, bool* unanswered);
  TimePoint soon() const;
  LockState shown(const LockName& name, const LeaseReading& reading, std::vector<Participant> waiters, WallTime asked,
                  WallTime answered) const;
  void tell_who_frees(const LeaseRow& row, const std::string& by);
  bool is_its_session(const LockName& name, Mode mode, const LeaseHolder& holder, ServerTime now);
  void tell_by_kill(const LockName& name, const LeaseRow& row, ServerTime now);

  Servers& servers_;
  const std::string store_;
  const Runtime runtime_;
  const Duration budget_;
};

}  // namespace dlock::mysql
