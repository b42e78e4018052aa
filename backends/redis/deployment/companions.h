// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/redis/deployment/deployment.h"
#include "backends/redis/deployment/names.h"
#include "lib/base/runtime.h"
#include "lib/lock/fencing_token.h"

namespace dlock::redis {

/// What is asked of the companions of locks, in every layout (names.h).

/// The names of all locks that have a companion with this suffix ("holders"), in canonical order.
Result<std::vector<LockName>> names_with_companion(Deployment& deployment, const std::string& suffix,
                                                   const std::string& store, const Runtime& runtime);

/// Who has freed the lock of this holder by force, and why; empty if nobody has said so.
std::string forced_by_whom(Deployment& deployment, const NativeNames& names, const std::string& holder, TimePoint until,
                           Control* control);

/// Lets `token` pass. Lost if a higher one was seen.
Result<void> pass_fence(Deployment& deployment, const NativeNames& names, FencingToken token, const std::string& store,
                        TimePoint until);

}  // namespace dlock::redis
