// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "backends/mysql/bound/store.h"
#include "backends/mysql/connection/admin.h"
#include "backends/mysql/connection/record.h"

namespace dlock::mysql {

/// strategy=session and strategy=row for commands that supervise nothing.
class BoundAdmin final : public MysqlAdmin {
 public:
  BoundAdmin(Settings settings, Servers servers, const Runtime& runtime)
      : MysqlAdmin(std::move(settings), std::move(servers), runtime) {}

  Result<LockState> inspect(const LockName& name) override;
  Result<ForceReleased> force_release(const LockName& name, const LockState& shown, const std::string& by) override;
  Result<void> revoke(const LockName& name, const LockState& shown, const std::string& by) override;
  Result<HeldLock> renew(const LockName& name, const Owner& owner, Duration ttl) override;
  Result<void> release(const LockName& name, const Owner& owner) override;

 private:
  Result<KnownLocks> known_locks() override;
  Result<std::vector<Swept>> sweep(bool dry_run) override;
  Result<Release> take_for_ping(const LockName& name) override;
  void forget_ping(const LockName& name) override;

  /// The holder, by the sessions of the server, if there is one.
  struct HolderSession {
    std::vector<Participant> participants;
    std::uint64_t session = 0;  ///< the server's id of its session; 0: not known, as that of a row without a record
    StoreTime now = 0;
  };

  HolderRow row(const LockName& name) { return HolderRow(servers_, settings_.strategy, name); }
  Result<HolderSession> holder_of(const LockName& name);
  Result<void> end_holder(const LockName& name, std::uint64_t session, TimePoint until);
};

}  // namespace dlock::mysql
