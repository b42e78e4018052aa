// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/options/options.h"
#include "cmd/show/output.h"
#include "lib/base/runtime.h"
#include "lib/lock/lock_admin.h"

namespace dlock {

/// dlock check KEY TOKEN: 0 if the token belongs to a present holder, 79 if not. Silent but for the error.
/// REQUIRES: one key and a token, as parse_command_line() sees to.
int check_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);

}  // namespace dlock
