// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "lib/base/result.h"
#include "lib/base/runtime.h"
#include "lib/base/unique_fd.h"
#include "lib/keeper/lock_driver.h"
#include "lib/keeper/messages.h"
#include "lib/keeper/orphans.h"

namespace dlock {

/// Makes the lock that a supervisor asks for.
using OpenLockDriver = std::function<Result<std::unique_ptr<LockDriver>>(const AcquireRequest&, const Runtime&)>;

/// Asks the holders in the state to end, for a request that waits to replace them (LockAdmin::revoke).
using AskHolders =
    std::function<Result<void>(const AcquireRequest&, const Runtime&, const LockState&, const std::string& by)>;

/// Who has freed the lock of the request by force, and why; empty: nobody, or it is not known by `until`.
using WhoFreed = std::function<std::string(const AcquireRequest&, const Runtime&, TimePoint until)>;

/// The keeper's end of the socket (descriptor kKeeperDescriptor), from "acquire" to the end: takes the lock, renews it
/// at renew_interval and then every renewal_retry() until it is confirmed or its deadline has passed, tells the
/// supervisor, gives the lock back. It obeys its socket alone: every signal but those of faults is blocked.
///
/// When the supervisor is gone (end of file) without a release: what is left of its command (below the guard of
/// "started": orphans.h) is sent TERM, KILL after spec.kill_after, at once when the lease
/// is about to end; until nothing of it is left the lease is renewed, then released. What may not be ended
/// (another user's) is outlived: that is said, and the lease is renewed until it has gone. After "detach": with pid=,
/// renews until that process has ended and gives back; without, leave()s.
///
/// When the supervisor is there but does not act (it is stopped, or hangs): at the time at which it should have killed,
/// and half a kill margin later, the keeper kills what is left of the command itself, be it that no renewal came, that
/// the store said "lost", or that the lock was revoked; unless spec.ends_command is false.
///
/// A grant of which less than least_to_tell() is left is renewed before it is reported. Until the supervisor has taken
/// the grant up ("started", "detach"), it is asked whether it is there; when it has said nothing for a ttl (it is
/// stopped, or hangs), the lock is given back for those who wait, and lost.
///
/// In the end it lets others go first: see kLastWordToEnd. For a supervisor that does not read, its last word waits for
/// a ttl.
///
/// A server or its library must not be able to make it a burden: its address space is limited to `memory` bytes, and
/// an exception, wherever it is thrown, is reported to the supervisor (SessionGone) and ends the process.
///
/// Returns the exit status of the process: 0, or 70 after an exception and when what it read made no sense.
int run_keeper(const OpenLockDriver& open, const AskHolders& ask, const WhoFreed& who_freed, std::size_t memory);

/// Having said its last word, a keeper waits for the supervisor to end, and another moment, before it closes its
/// connections and ends: for no longer than this.
inline constexpr Duration kLastWordToEnd = std::chrono::milliseconds(105);

/// The same on any socket, and in any world.
int keep(UniqueFd socket, const OpenLockDriver& open, const Runtime& runtime, Processes& processes,
         const AskHolders& ask = {}, const WhoFreed& who_freed = {});

}  // namespace dlock
