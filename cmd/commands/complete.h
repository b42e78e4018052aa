// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/options/options.h"
#include "cmd/show/output.h"
#include "lib/base/runtime.h"
#include "lib/lock/lock_admin.h"
#include "lib/stock/stock.h"

namespace dlock {

// The hidden `dlock __complete WORD...`, for the completion scripts: what may stand for the last word, one a line, as
// in Completion::lines; of live names only those that a shell takes as they are.

/// From now on this process, and whatever it becomes, ends within 300 ms: somebody has pressed Tab.
void hurry();

/// What follows from the line alone.
int complete_line(const Options& options, const Runtime& runtime, Output& out);
/// The names of the configured backends.
int complete_backends(const Options& options, const Runtime& runtime, Output& out);
/// The locks that are held or waited for. A store that does not answer has none.
int complete_keys(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);
int complete_stocks(const Options& options, Stock& stock, const Runtime& runtime, Output& out);

}  // namespace dlock
