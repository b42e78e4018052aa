// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/keeper/lock_driver.h"
#include "lib/lock/lock_admin.h"
#include "lib/lock/lock_spec.h"

namespace dlock::redis {

/// redlock://: one lock on N independent servers, for commands that supervise nothing. Asks no server yet.
/// Misconfigured for a URL that names a server twice. open() is not for here: keep_redlock() does it.
Result<std::unique_ptr<LockAdmin>> make_redlock_backend(const BackendUrl& url, const Runtime& runtime);

/// One such lock for its keeper. Unsupported: shared, permits, fair, lock-delay.
Result<std::unique_ptr<LockDriver>> keep_redlock(const BackendUrl& url, const LockSpec& spec, const Runtime& runtime);

}  // namespace dlock::redis
