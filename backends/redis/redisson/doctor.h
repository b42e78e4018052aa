// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/redis/deployment/deployment.h"
#include "backends/redis/redisson/names.h"
#include "lib/base/runtime.h"
#include "lib/lock/lock_admin.h"

namespace dlock::redis {

/// Asks and judges the servers of Redisson's layout, and says what users should know of this kind. Bounded by a few
/// seconds.
std::vector<Finding> diagnose_redisson(Deployment& deployment, RedissonKind kind, const std::string& store,
                                       const Runtime& runtime);

}  // namespace dlock::redis
