// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/local/context.h"
#include "backends/local/files/path_lock.h"
#include "backends/local/queue_entry.h"
#include "lib/lock/lock_session.h"

namespace dlock::local {

/// Leaves a small process that keeps `queue_entry` (and `path`, if valid): a kernel lock needs a live process.
/// It is a child of init, in a session of its own, with nothing open but the lock, and ends the hold
///   - at the lease's end (its own timer on the boot clock), or when the watched process ends,
///   - when its record says "given back" or a new end: others change the record under the guard and touch the file,
///   - when it is force-released, or gets TERM, INT, HUP or QUIT.
/// Returns when it is in charge; the caller then closes its own descriptors without unlocking.
Result<void> leave_holder(LocalContext& context, QueueEntry& queue_entry, PathLock& path, const DetachSpec& spec,
                          std::optional<int> ran);

}  // namespace dlock::local
