// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/options/options.h"
#include "cmd/show/output.h"
#include "lib/base/runtime.h"
#include "lib/lock/lock_admin.h"

namespace dlock {

/// dlock metrics: the store's locks as they are, and what was recorded (--events), as OpenMetrics text. Where nothing
/// is recorded, or cannot be read, which is a warning, the first half alone.
int metrics_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);

}  // namespace dlock
