// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/keeper/lock_driver.h"
#include "lib/lock/lock_spec.h"

namespace dlock::redis {

/// One lock of redlock:// or tair://, for its keeper. Unsupported: shared, permits, fair, lock-delay; later also a
/// tair:// server that is not a Tair.
Result<std::unique_ptr<LockDriver>> keep_quorum_lock(const BackendUrl& url, const LockSpec& spec,
                                                     const Runtime& runtime);

}  // namespace dlock::redis
