// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "lib/base/runtime.h"
#include "lib/keeper/lock_driver.h"
#include "lib/lock/lock_admin.h"

namespace dlock {

/// For a run whose DLOCK_HELD names a hold that no keeper answers for (hold_socket.h): what the store says of it. If
/// its owner does not hold the lock, `open` opens it as for any other run. If it is a detached lease, the lock of this
/// run is that lease: it is renewed where it would end before the run's own ttl, as `dlock renew` does, and left at the
/// end. Unsupported if a process holds it, which would be waited for until it has waited for us. REQUIRES:
/// spec.ancestor.
using OpenLock = std::function<Result<std::unique_ptr<LockDriver>>(const LockSpec&)>;
Result<std::unique_ptr<LockDriver>> open_around(std::unique_ptr<LockAdmin> store, LockSpec spec, const OpenLock& open,
                                                const Runtime& runtime);

}  // namespace dlock
