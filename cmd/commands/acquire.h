// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/options/options.h"
#include "cmd/show/output.h"
#include "lib/base/runtime.h"

namespace dlock {

/// dlock acquire KEY --ttl D [--watch-pid PID]: takes a lease that goes on without this process and prints "OWNER
/// TOKEN". If the handle cannot be printed the lock is given back: nobody would know how to.
int acquire_command(const Options& options, const Runtime& runtime, Output& out);

/// dlock wait KEY: returns when nobody holds it; takes nothing.
int wait_command(const Options& options, const Runtime& runtime);

}  // namespace dlock
