// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "backends/mysql/settings.h"
#include "lib/base/runtime.h"
#include "lib/lock/backend.h"

namespace dlock::mysql {

/// Every server of the URL: reachable, version, clock, and the settings that endanger locks.
std::vector<Finding> diagnose_servers(const Settings& settings, const Dial& dial, const Runtime& runtime);

}  // namespace dlock::mysql
