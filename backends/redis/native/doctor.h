// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/redis/deployment/deployment.h"
#include "lib/base/runtime.h"
#include "lib/lock/lock_admin.h"

namespace dlock::redis {

/// Asks and judges the servers of the native layout. Bounded by a few seconds.
std::vector<Finding> diagnose_native(Deployment& deployment, const std::string& store, const Runtime& runtime);

}  // namespace dlock::redis
