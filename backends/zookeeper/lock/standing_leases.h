// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backends/zookeeper/lock/ensemble.h"
#include "backends/zookeeper/lock/record.h"
#include "backends/zookeeper/session/calls.h"
#include "lib/base/result.h"
#include "lib/lock/owner.h"

namespace dlock::zookeeper {

/// Leases without a process: what `acquire`, the rest of --at-least and a lock-delay leave. Each is a node that stays,
/// in the place of the contender that held the lock (lease_name()), where Curator and kazoo wait behind it as behind
/// any other. It lasts from its creation on for as long as its data say, by the leader's clock, which stamps both ends,
/// and keeps others out for its lock-delay after that. Nobody ends it: whoever has it before him, and gc, removes it
/// when its time is past.

/// What a node says that is a lease; nullopt: it belongs to a session, or is not dlock's.
std::optional<HolderRecord> lease_in(const NodeStat& stat, std::string_view data);

inline constexpr Duration kStampUnit = std::chrono::milliseconds(1);  ///< a stamp may be younger than it says by that

/// Its end by the leader's clock, and that of its lock-delay.
WallTime end_of(const HolderRecord& lease, const NodeStat& stat);
WallTime end_of_delay(const HolderRecord& lease, const NodeStat& stat);

/// Removes the lease in the node `path` if it is over, its lock-delay too. Returns when it has to be asked about again;
/// nullopt: it is not there any more; a watch tells when it changes. That it is over is what the leader's stamp of a
/// write says, and it is removed at that version: one that was renewed stays.
Result<std::optional<TimePoint>> remove_if_over(Calls& calls, const std::string& path, ServerClock& clock,
                                                TimePoint until, Control* control);

/// Makes the lease of `owner` end `ttl` from now. Lost if it is over or gone, and another's is left alone: each write
/// is at the version that was read, and one that comes too late takes the node away again.
Result<void> renew_lease(Calls& calls, const std::string& path, const Owner& owner, Duration ttl, TimePoint until);

/// Removes the lease of `owner`. Lost if it was over or gone before.
Result<void> release_lease(Calls& calls, const std::string& path, const Owner& owner, TimePoint until);

}  // namespace dlock::zookeeper
