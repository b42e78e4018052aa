// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/options/options.h"
#include "cmd/show/output.h"
#include "lib/base/runtime.h"
#include "lib/lock/lock_admin.h"

namespace dlock {

/// dlock renew KEY --owner H [--ttl D]: a lease of "dlock acquire" ends the ttl from now. 79 when it is not held any
/// more. Says nothing without --json.
int renew_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);

/// dlock release KEY --owner H: gives it back. 79 when it is not held any more, which --if-held makes 0.
int release_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);

}  // namespace dlock
