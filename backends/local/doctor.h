// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "backends/local/context.h"
#include "lib/lock/lock_admin.h"

namespace dlock::local {

/// LockAdmin::diagnose() and ping() of this machine.
std::vector<Finding> diagnose(LocalContext& context);
Result<void> write_ping_file(LocalContext& context);

}  // namespace dlock::local
