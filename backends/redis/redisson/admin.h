// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/lock/lock_admin.h"

namespace dlock::redis {

/// Misconfigured for a URL that cannot be served; asks no server yet.
Result<std::unique_ptr<LockAdmin>> make_redisson_admin(const BackendUrl& url, const Runtime& runtime);

}  // namespace dlock::redis
