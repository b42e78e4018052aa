// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/options/options.h"
#include "cmd/show/output.h"
#include "lib/base/runtime.h"

namespace dlock {

/// `dlock verify`: its workers take, hold and release locks in the store of the options, while they, their keepers and
/// their network fail; then the history is judged and the verdict printed. Returns the exit status: 0 if every promise
/// held, 1 if one was broken, 75 if another verify is at work in that store, 78 if the store cannot be verified,
/// another one of dlock(1) if nothing was tried. Forks. REQUIRES: one thread.
int verify_command(const Options& options, const Runtime& runtime, Output& out);

}  // namespace dlock
