// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/lock/session_lease.h"

#include <algorithm>

#include "lib/lock/lease.h"

namespace dlock::zookeeper {

Duration timeout_to_ask(Duration ttl, Duration lock_delay) { return ttl + ttl / 2 + lock_delay; }

Duration lease_within(Duration granted, Duration ttl, Duration lock_delay) {
  return std::min(ttl, (granted - lock_delay) / 3 * 2);
}

TimePoint believed_until(TimePoint sent, TimePoint previous, Duration granted, Duration ttl, Duration lock_delay) {
  const TimePoint lease_ends = lease_deadline(sent, lease_within(granted, ttl, lock_delay));
  const TimePoint session_ends = lease_deadline(previous, granted - lock_delay);
  return std::min(lease_ends, session_ends);
}

}  // namespace dlock::zookeeper
