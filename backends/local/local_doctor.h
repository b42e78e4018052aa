// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "backends/local/local_context.h"
#include "lib/lock/backend.h"

namespace dlock::local {

/// Backend::diagnose() and ping() of this machine.
std::vector<Finding> diagnose(LocalContext& context);
Result<Duration> ping(LocalContext& context);

}  // namespace dlock::local
