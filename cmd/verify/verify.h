// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/options/options.h"
#include "cmd/show/output.h"
#include "lib/base/runtime.h"

namespace dlock {

/// dlock verify: workers of its own take, hold, lose and give back locks of keys of its own in the store of the
/// options, while they, their keepers and their network fail; then the history is judged. 0 held, 1 broken; 75 if
/// another verify is at work there, 78 if the store cannot be verified. Forks. REQUIRES: one thread.
int verify_command(const Options& options, const Runtime& runtime, Output& out);

}  // namespace dlock
