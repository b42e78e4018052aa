// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/options/options.h"
#include "cmd/show/output.h"
#include "lib/base/runtime.h"

namespace dlock {

/// dlock history: what happened to the locks that are named, or all, in the store that was typed, or all, as far as it
/// was recorded (--events). What is no event in the file, and a clock that went back, is told on stderr and changes no
/// status.
int history_command(const Options& options, const Runtime& runtime, Output& out);

}  // namespace dlock
