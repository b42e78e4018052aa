// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/mysql/connection/admin.h"
#include "backends/mysql/row/store.h"

namespace dlock::mysql {

/// strategy=unique and strategy=occupy for commands that supervise nothing. Waiters only poll, so they are not shown.
class RowAdmin final : public MysqlAdmin {
 public:
  RowAdmin(Settings settings, Servers servers, const Runtime& runtime)
      : MysqlAdmin(std::move(settings), std::move(servers), runtime), table_(settings_, servers_) {}

  Result<LockState> inspect(const LockName& name) override;
  Result<ForceReleased> force_release(const LockName& name, const LockState& shown, const std::string& by) override;
  Result<void> revoke(const LockName& name, const LockState& shown, const std::string& by) override;
  Result<HeldLock> renew(const LockName& name, const Owner& owner, Duration ttl) override;
  Result<void> release(const LockName& name, const Owner& owner) override;

 private:
  Result<KnownLocks> known_locks() override;
  Result<std::vector<Swept>> sweep(bool dry_run) override;
  Result<Release> take_for_ping(const LockName& name) override;

  RowStore table_;
};

}  // namespace dlock::mysql
