// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cmd/options.h"
#include "cmd/output.h"
#include "lib/base/runtime.h"
#include "lib/lock/backend.h"

namespace dlock {

/// dlock inspect [KEY...]: holders and waiters, of all live locks without KEY. A free lock is an answer like any other:
/// 0. With --json one object a line. With --watch see cmd/watch.h.
int inspect_command(const Options& options, Backend& backend, const Runtime& runtime, Output& out);

/// The locks that the command line asks for.
Result<std::vector<LockState>> look_at_locks(const Options& options, Backend& backend);

}  // namespace dlock
