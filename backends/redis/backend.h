// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/keeper/lock_driver.h"
#include "lib/lock/lock_admin.h"
#include "lib/lock/lock_spec.h"

namespace dlock {

/// The Redis family, for commands that supervise nothing. Misconfigured for a URL that cannot be served; asks no server
/// yet.
Result<std::unique_ptr<LockAdmin>> make_redis_admin(const BackendUrl& url, const Runtime& runtime);

/// One lock of the Redis family, for its keeper. Unsupported if this store cannot do what `spec` asks.
Result<std::unique_ptr<LockDriver>> keep_redis_lock(const BackendUrl& url, const LockSpec& spec,
                                                    const Runtime& runtime);

}  // namespace dlock
