// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/postgres/connection/settings.h"
#include "lib/base/runtime.h"
#include "lib/lock/lock_admin.h"

namespace dlock::postgres {

/// Asks and judges every server of the URL: reachable, encrypted, version, clock, what endangers locks, a pooler, the
/// table, rights.
std::vector<Finding> diagnose_servers(const Settings& settings, const Runtime& runtime);

}  // namespace dlock::postgres
