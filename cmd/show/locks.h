// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cmd/options/options.h"
#include "lib/lock/lock_admin.h"

namespace dlock {

/// The locks that the command line asks for: its KEYs; without any, all live ones.
Result<std::vector<LockState>> look_at_locks(const Options& options, LockAdmin& backend);

}  // namespace dlock
