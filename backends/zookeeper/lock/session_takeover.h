// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/zookeeper/lock/detached.h"
#include "backends/zookeeper/lock/ensemble.h"

namespace dlock::zookeeper {

/// Takes over a session, with a timeout of its own from now on; whoever had it before must have let go of it. Lost if
/// it has expired.
Result<std::unique_ptr<Calls>> take_over(Ensemble& ensemble, const SessionKey& key, Duration timeout, TimePoint until);

/// Unsupported if the servers have not granted that much.
Result<void> check_timeout(const Calls& calls, Duration wanted);

/// Lost unless all these nodes are there, as the leader knows it.
Result<void> check_nodes(Calls& calls, const std::vector<std::string>& paths, TimePoint until);

/// The lease goes on for `ttl` from now. Its session, and where that is now.
Result<SessionKey> renew_lease(Ensemble& ensemble, const DetachedLease& lease, Duration ttl, TimePoint until);

/// Ends it. Lost if it had ended already.
Result<void> end_lease(Ensemble& ensemble, const DetachedLease& lease, TimePoint until);

}  // namespace dlock::zookeeper
