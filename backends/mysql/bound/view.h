// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "backends/mysql/bound/row_blockers.h"
#include "backends/mysql/bound/store.h"
#include "backends/mysql/connection/strategy_view.h"
#include "lib/base/runtime.h"

namespace dlock::mysql {

/// strategy=session and strategy=row for commands that supervise nothing.
class BoundView final : public StrategyView {
 public:
  /// Whether to look for the name of a holder that is no dlock, which takes further queries (row_blockers.h).
  enum class Strangers { kSought, kUnnamed };

  /// `settings` and `servers` outlive it.
  BoundView(const Settings& settings, Servers& servers, const Runtime& runtime, std::optional<Duration> budget = {},
            Strangers strangers = Strangers::kSought)
      : settings_(settings),
        servers_(servers),
        runtime_(runtime),
        budget_(budget.value_or(runtime.patience)),
        strangers_(strangers) {}

  Result<LockState> inspect(const LockName& name) override;
  Result<std::vector<LockName>> names() override;
  Result<ForceReleased> force_release(const LockName& name, const LockState& shown, const std::string& by) override;
  Result<void> revoke(const LockName& name, const LockState& shown, const std::string& by) override;
  Result<HeldLock> renew(const LockName& name, const Owner& owner, Duration ttl) override;
  Result<void> release(const LockName& name, const Owner& owner) override;
  Result<std::vector<Swept>> sweep(bool dry_run) override;
  Result<AdminCommon::GiveBack> take_for_ping(const LockName& name) override;
  void forget_ping(const LockName& name) override;

 private:
  TimePoint soon() const { return runtime_.clock.now() + budget_; }
  /// The holders, by the sessions of the server.
  struct Present {
    std::vector<Participant> participants;
    std::vector<std::uint64_t> sessions;  ///< the server's id of each participant's; 0: not known
    std::optional<Error> hidden;          ///< why the server does not tell who holds
    ServerTime now = 0;
  };

  Result<Present> present(const LockName& name, Strangers strangers);
  Result<Present> blockers(const LockName& name);
  Result<void> end_holder(const LockName& name, std::uint64_t session, TimePoint until);
  Error needs_connection() const;

  const Settings& settings_;
  Servers& servers_;
  const Runtime runtime_;
  const Duration budget_;
  const Strangers strangers_;
};

}  // namespace dlock::mysql
