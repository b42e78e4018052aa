// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/options/options.h"
#include "cmd/show/output.h"
#include "lib/base/runtime.h"

namespace dlock {

/// dlock hold KEY: takes the lock, prints "OWNER TOKEN" on one line, keeps it until stdin ends or a signal comes, gives
/// it back. 0; 79 when the lock was lost meanwhile.
int hold_command(const Options& options, const Runtime& runtime, Output& out);

}  // namespace dlock
