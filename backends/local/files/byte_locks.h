// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "backends/local/files/rules.h"
#include "lib/base/result.h"

namespace dlock::local {

/// Open-file-description locks (fcntl(2), Linux 3.15): they belong to an open file, not to a process; children inherit
/// them, and the last close frees them. Errors are errno values, 0 is success. Only write locks mean anything here:
/// read locks are the way in which a waiter waits.

/// EAGAIN if another open file has locked any byte of it.
int try_write_lock(int fd, const Range& range);
int unlock_bytes(int fd, const Range& range);
/// All locks through this open file: the kernel has nothing to cut, which is a fifth faster.
int unlock_all_bytes(int fd);
/// Blocks until no other open file has a write lock in `range`. Async-signal-safe.
int wait_for_bytes(int fd, const Range& range);

/// Has another open file write-locked any byte of it? A byte that the kernel refuses to report counts as locked.
bool any_write_lock(int fd, const Range& range);

/// One of the locks that others have in `range`, as long as it is; it may begin further to the left. Which one, the
/// kernel says.
Result<std::optional<Range>> find_a_write_lock(int fd, const Range& range);

/// The ranges that others have write-locked and that begin in `range`, in no order.
Result<std::vector<Range>> find_write_locks(int fd, const Range& range);

}  // namespace dlock::local
