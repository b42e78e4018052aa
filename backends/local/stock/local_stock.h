// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/keeper/lock_driver.h"
#include "lib/lock/lock_spec.h"
#include "lib/stock/stock.h"

namespace dlock {

/// The stocks of this machine, in stock.db of the lock directory; for the program dlock-local. Opens the file on first
/// use; only create() makes it. ?sync=normal: a power failure may take back the last sales (no crash of a process
/// does), and each is several times faster.
Result<std::unique_ptr<Stock>> make_local_stock(const BackendUrl& url, const Runtime& runtime);

/// A lock of this machine, held by the keeper program instead of dlock itself: the lock of a segment.
Result<std::unique_ptr<LockDriver>> keep_local_lock(const BackendUrl& url, const LockSpec& spec,
                                                    const Runtime& runtime);

}  // namespace dlock
