// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/options/options.h"
#include "cmd/show/output.h"
#include "lib/base/runtime.h"
#include "lib/lock/lock_admin.h"

namespace dlock {

/// dlock inspect [KEY...]: holders and waiters, of all live locks without KEY. A free lock is an answer like any other:
/// 0. With --json one object a line. With --watch see cmd/show/watch.h.
int inspect_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);

}  // namespace dlock
