// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/options/options.h"
#include "lib/base/runtime.h"

namespace dlock {

/// dlock run KEY... -- CMD: returns the exit status for main, or dies of the signal that CMD died of. `environment` is
/// the process's own.
int run_command(const Options& options, const Runtime& runtime, char** environment);

}  // namespace dlock
