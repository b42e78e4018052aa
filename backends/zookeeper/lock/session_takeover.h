// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/zookeeper/lock/detached.h"
#include "backends/zookeeper/lock/ensemble.h"

namespace dlock::zookeeper {

/// Takes over the session of `key`, and gives it `timeout` from now on. REQUIRES: the process that had it uses it no
/// more. Lost if it has expired; errors as of Ensemble::connect().
Result<std::unique_ptr<Calls>> take_over(Ensemble& ensemble, const SessionKey& key, Duration timeout, TimePoint until);

/// For a session that is taken over to be ended.
inline constexpr Duration kLastTimeout = std::chrono::seconds(1);

/// Unsupported if the servers have granted a shorter timeout than `wanted`.
Result<void> check_timeout(const Calls& calls, Duration wanted);

/// Lost unless all these nodes are there, as the leader knows it.
Result<void> check_nodes(Calls& calls, const std::vector<std::string>& paths, TimePoint until);

/// Renews the lease for `ttl` from now. Returns the key of its session, with the server that it is connected to now.
Result<SessionKey> renew_lease(Ensemble& ensemble, const DetachedLease& lease, Duration ttl, TimePoint until);

/// Ends the session of `calls`, and with it its ephemeral nodes and no others. Returns when a server has said that it
/// does not know the session any more; Unavailable if none has by `until`. `calls` cannot be used after this.
Result<void> end_session(Ensemble& ensemble, Calls& calls, TimePoint until);

/// Ends the lease and its session. Lost if it had ended already.
Result<void> end_lease(Ensemble& ensemble, const DetachedLease& lease, TimePoint until);

}  // namespace dlock::zookeeper
