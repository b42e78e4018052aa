// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "lib/base/result.h"
#include "lib/base/runtime.h"
#include "lib/base/unique_fd.h"
#include "lib/keeper/kept_lock.h"
#include "lib/keeper/messages.h"
#include "lib/keeper/processes.h"

namespace dlock {

/// Makes the lock that a supervisor asks for.
using OpenKeptLock = std::function<Result<std::unique_ptr<KeptLock>>(const AcquireRequest&, const Runtime&)>;

/// The keeper's end of the socket (descriptor kKeeperDescriptor), from "acquire" to the end: takes the lock, renews it
/// at renew_interval and then every renewal_retry() until it is confirmed or its deadline has passed, tells the
/// supervisor, gives the lock back. It obeys its socket alone: TERM, INT, HUP and QUIT are ignored.
///
/// When the supervisor is gone (end of file) without a release: what is left of its command (the pid of "started", what
/// descends from it, and every process that DLOCK_OWNER or DLOCK_HELD mark with our owner) is sent TERM, KILL after
/// spec.kill_after, at once when the lease is about to end; the lease is renewed meanwhile, and given back when nothing
/// of it is left. What may not be ended (another user's) is outlived: the lease is renewed until it has gone. After
/// "detach": with pid=, renews until that process has ended and gives back; without, leave()s.
///
/// In the end it lets others go first: see kLastWordToEnd.
///
/// Returns the exit status of the process: 0, or 70 when what it read made no sense.
int run_keeper(const OpenKeptLock& open);

/// Having said its last word, a keeper waits for the supervisor to end, and another moment, before it closes its
/// connections and ends: for no longer than this.
inline constexpr Duration kLastWordToEnd = std::chrono::milliseconds(105);

/// The same on any socket, and in any world.
int keep(UniqueFd socket, const OpenKeptLock& open, const Runtime& runtime, Processes& processes);

}  // namespace dlock
