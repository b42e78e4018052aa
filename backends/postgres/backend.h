// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/keeper/lock_driver.h"
#include "lib/lock/lock_admin.h"
#include "lib/lock/lock_spec.h"

namespace dlock {

/// PostgreSQL, for commands that supervise nothing. Misconfigured for a URL that cannot be served; asks no server yet.
Result<std::unique_ptr<LockAdmin>> make_postgres_admin(const BackendUrl& url, const Runtime& runtime);

/// One lock in a database, for its keeper. Unsupported if this strategy cannot do what `spec` asks.
Result<std::unique_ptr<LockDriver>> keep_postgres_lock(const BackendUrl& url, const LockSpec& spec,
                                                       const Runtime& runtime);

}  // namespace dlock
