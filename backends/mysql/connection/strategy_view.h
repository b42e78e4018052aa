// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "lib/lock/admin_common.h"

namespace dlock::mysql {

/// The port of MysqlAdmin to one strategy, for commands that supervise nothing. The calls are those of
/// lib/lock/lock_admin.h, with the same contracts; each is bounded by a few seconds.
class StrategyView {
 public:
  virtual ~StrategyView() = default;
  virtual Result<LockState> inspect(const LockName& name) = 0;
  /// As AdminCommon::inspect_some(); empty: each is to be asked for alone.
  virtual std::vector<Result<LockState>> inspect_some(std::span<const LockName> /*names*/) { return {}; }
  /// The locks that have a holder or a waiter, in canonical order.
  virtual Result<std::vector<LockName>> names() = 0;
  virtual Result<ForceReleased> force_release(const LockName& name, const LockState& shown, const std::string& by) = 0;
  virtual Result<void> revoke(const LockName& name, const LockState& shown, const std::string& by) = 0;
  virtual Result<HeldLock> renew(const LockName& name, const Owner& owner, Duration ttl) = 0;
  virtual Result<void> release(const LockName& name, const Owner& owner) = 0;
  virtual Result<std::vector<Swept>> sweep(bool dry_run) = 0;
  virtual Result<AdminCommon::GiveBack> take_for_ping(const LockName& name) = 0;
  virtual void forget_ping(const LockName& /*name*/) {}
};

}  // namespace dlock::mysql
