// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/options/options.h"
#include "cmd/show/output.h"
#include "lib/base/runtime.h"
#include "lib/lock/lock_admin.h"

namespace dlock {

/// dlock inspect --watch for somebody with a keyboard at `input`: the locks on the alternate screen, looked at again
/// every --interval (1 s), one of them with what happened to it, freed by force after the question of force-release. q
/// and ^C leave with 0 and give the terminal back as it was. A store that does not answer is shown, not fatal. Blocks
/// INT, TERM, HUP, QUIT and WINCH while it runs.
int watch_locks(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out, int input);

}  // namespace dlock
