// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/options/options.h"
#include "cmd/show/output.h"
#include "lib/base/runtime.h"
#include "lib/lock/lock_admin.h"

namespace dlock {

/// dlock fence RESOURCE TOKEN [-- CMD]: 79 if a higher token was seen for RESOURCE, else 0, or this process becomes
/// CMD, which inherits the descriptor that keeps other checks of RESOURCE out until it ends. Returns only without CMD
/// or when it cannot be run (126, 127).
int fence_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);

}  // namespace dlock
