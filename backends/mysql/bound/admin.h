// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "backends/mysql/bound/row_blockers.h"
#include "backends/mysql/bound/store.h"
#include "backends/mysql/connection/admin.h"

namespace dlock::mysql {

/// strategy=session and strategy=row for commands that supervise nothing.
class BoundAdmin final : public MysqlAdmin {
 public:
  /// Whether to look for the name of a holder that is not a dlock, which takes further queries (row_blockers.h).
  enum class Strangers { kSought, kUnnamed };

  BoundAdmin(Settings settings, Servers servers, const Runtime& runtime, Strangers strangers = Strangers::kSought)
      : MysqlAdmin(std::move(settings), std::move(servers), runtime), strangers_(strangers) {}

  Result<LockState> inspect(const LockName& name) override;
  Result<ForceReleased> force_release(const LockName& name, const LockState& shown, const std::string& by) override;
  Result<void> revoke(const LockName& name, const LockState& shown, const std::string& by) override;
  Result<HeldLock> renew(const LockName& name, const Owner& owner, Duration ttl) override;
  Result<void> release(const LockName& name, const Owner& owner) override;

 private:
  Result<KnownLocks> known_locks() override;
  Result<std::vector<Swept>> sweep(bool dry_run) override;
  Result<GiveBack> take_for_ping(const LockName& name) override;
  void forget_ping(const LockName& name) override;

  /// The holders, by the sessions of the server.
  struct Present {
    std::vector<Participant> participants;
    std::vector<std::uint64_t> sessions;  ///< the server's id of each participant's; 0: not known
    std::optional<Error> hidden;          ///< why the server does not report the holder
    ServerTime now = 0;
  };

  Result<Present> present(const LockName& name, Strangers strangers);
  Result<Present> blockers(const LockName& name);
  void add_account(RowBlocker& known);
  Result<void> end_holder(const LockName& name, std::uint64_t session, TimePoint until);

  const Strangers strangers_;
};

}  // namespace dlock::mysql
