// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/local/context.h"
#include "lib/lock/lock_admin.h"

namespace dlock::local {

/// Actions of one process on a lock that another one holds: through the records, under the guard. See
/// lib/lock/lock_admin.h.
Result<HeldLock> renew_lease(LocalContext& context, const LockName& name, const Owner& owner, Duration ttl);
Result<void> release_lease(LocalContext& context, const LockName& name, const Owner& owner);
Result<ForceReleased> force_release(LocalContext& context, const LockName& name, const LockState& shown,
                                    const std::string& by);
Result<void> revoke(LocalContext& context, const LockName& name, const LockState& shown, const std::string& by);

}  // namespace dlock::local
