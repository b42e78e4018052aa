// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lib/base/time.h"

namespace dlock::zookeeper {

/// The arithmetic between a lease of dlock and a session of ZooKeeper. Pure. A holder believes in its lock for two
/// thirds of the session's timeout, counted from before the last request that the leader has answered: a follower that
/// is cut off goes on answering everything else. The lock-delay is what a session lives longer than that.

/// The session timeout to ask the server for: 3/2 ttl + lock_delay.
Duration timeout_to_ask(Duration ttl, Duration lock_delay);

/// How long a lease really is within a session whose timeout the server has bounded: at most ttl, at most two thirds of
/// what is left of `granted` beside the lock-delay. 0 or less: the session is too short.
Duration lease_within(Duration granted, Duration ttl, Duration lock_delay);

/// The last moment at which the lock is believed. `sent`: before the last request that the leader has answered;
/// `previous`: the one before. The leader hears of a request by the next ping of its follower only, so nothing later
/// than `previous` is sure to have made the session longer.
TimePoint believed_until(TimePoint sent, TimePoint previous, Duration granted, Duration ttl, Duration lock_delay);

}  // namespace dlock::zookeeper
