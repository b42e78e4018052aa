// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/keeper/lock_driver.h"
#include "lib/lock/lock_admin.h"
#include "lib/lock/lock_spec.h"

namespace dlock::redis {

/// tair://, mode=cas or mode=ex, for commands that supervise nothing. Asks no server yet. open() is not for here:
/// keep_tair() does it.
Result<std::unique_ptr<LockAdmin>> make_tair_backend(const BackendUrl& url, const Runtime& runtime);

/// One such lock for its keeper. Unsupported: shared, permits, fair, lock-delay; later also a server that is no Tair.
Result<std::unique_ptr<LockDriver>> keep_tair(const BackendUrl& url, const LockSpec& spec, const Runtime& runtime);

}  // namespace dlock::redis
