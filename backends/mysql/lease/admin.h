// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/mysql/connection/admin.h"
#include "backends/mysql/lease/store.h"

namespace dlock::mysql {

/// strategy=lease for commands that supervise nothing.
class LeaseAdmin final : public MysqlAdmin {
 public:
  LeaseAdmin(Settings settings, Servers servers, const Runtime& runtime)
      : MysqlAdmin(std::move(settings), std::move(servers), runtime) {}

  Result<LockState> inspect(const LockName& name) override;
  Result<ForceReleased> force_release(const LockName& name, const LockState& shown, const std::string& by) override;
  /// A holder reads its row when its connection ends, and at its next renewal.
  Result<void> revoke(const LockName& name, const LockState& shown, const std::string& by) override;
  Result<HeldLock> renew(const LockName& name, const Owner& owner, Duration ttl) override;
  Result<void> release(const LockName& name, const Owner& owner) override;

 private:
  Result<KnownLocks> known_locks() override;
  std::vector<Result<LockState>> inspect_some(std::span<const LockName> names) override;
  Result<std::vector<Swept>> sweep(bool dry_run) override;
  Result<Release> take_for_ping(const LockName& name) override;
  void forget_ping(const LockName& name) override;

  Result<std::optional<LeaseStore::Rewritten>> rewrite(const LockName& name, const LeaseStore::Rewrite& make,
                                                       bool* unanswered = nullptr);
  LockState shown(const LockName& name, const LeaseReading& reading, std::vector<Participant> waiters, WallTime asked,
                  WallTime answered) const;
  bool is_its_session(const LockName& name, Mode mode, const LeaseHolder& holder, ServerTime now);
  void tell_by_kill(const LockName& name, const LeaseRow& row, ServerTime now);
};

}  // namespace dlock::mysql
