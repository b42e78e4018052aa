// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/keeper/lock_driver.h"
#include "lib/lock/lock_spec.h"

namespace dlock::redis {

/// One lock of Redisson's, for its keeper. Unsupported if its kind cannot do what `spec` asks.
Result<std::unique_ptr<LockDriver>> keep_redisson_lock(const BackendUrl& url, const LockSpec& spec,
                                                       const Runtime& runtime);

}  // namespace dlock::redis
