// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "backends/postgres/bound/store.h"
#include "backends/postgres/lease/admin.h"

namespace dlock::postgres {

/// strategy=session for commands that supervise nothing. The rows say who holds a lock, and the server's own list of
/// locks whether that is so.
class BoundAdmin final : public PostgresAdmin {
 public:
  BoundAdmin(std::shared_ptr<Servers> servers, const Runtime& runtime);

  Result<LockState> inspect(const LockName& name) override;
  /// Ends the session that holds it; the server frees what it held.
  Result<ForceReleased> force_release(const LockName& name, const LockState& shown, const std::string& by) override;
  /// In the record, which the holder reads in its pings: the end of its connection would take the lock from it.
  Result<void> revoke(const LockName& name, const LockState& shown, const std::string& by) override;
  Result<HeldLock> renew(const LockName& name, const Owner& owner, Duration ttl) override;
  Result<void> release(const LockName& name, const Owner& owner) override;
  /// The records of sessions that have ended, too; the locks themselves went with them.
  Result<std::vector<Swept>> collect_garbage(bool dry_run) override;

 private:
  std::vector<Result<LockState>> inspect_some(std::span<const LockName> names) override {
    return AdminCommon::inspect_some(names);
  }
  Result<Release> take_for_ping(const LockName& name) override;
};

}  // namespace dlock::postgres
