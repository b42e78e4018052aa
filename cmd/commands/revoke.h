// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/options/options.h"
#include "cmd/show/output.h"
#include "lib/base/runtime.h"
#include "lib/lock/lock_admin.h"

namespace dlock {

/// dlock revoke KEY: asks the holders (with --slot, that of one permit) to end what runs under the lock, and returns
/// when they have released it. A lease of `acquire`, under which nothing of dlock's runs, is released at once. 0 also
/// if it was free already, 75 if one of them holds it still when --wait is over; with --force it then loses the lock.
int revoke_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);

}  // namespace dlock
