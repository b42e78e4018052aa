// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/lease.h"

#include <algorithm>

namespace dlock {

using namespace std::chrono_literals;

Duration clock_drift(Duration ttl) { return ttl / 100 + 2ms; }

TimePoint lease_deadline(TimePoint sent, Duration ttl) { return sent + ttl - clock_drift(ttl); }

bool has_just_begun(TimePoint sent, TimePoint now, Duration ttl) { return now - sent <= clock_drift(ttl); }

Duration kill_margin(Duration ttl) { return std::min<Duration>(1s, ttl / 100 * 8); }

TimePoint kill_at(TimePoint deadline, Duration ttl) { return deadline - kill_margin(ttl); }

TimePoint term_at(TimePoint deadline, Duration ttl, Duration kill_after) { return kill_at(deadline, ttl) - kill_after; }

Duration renewal_retry(Duration ttl) { return std::min<Duration>(1s, ttl / 20); }

Duration least_to_start(Duration ttl) { return ttl / 10; }

Duration least_to_tell(Duration ttl) { return ttl * 2 / 3; }

Duration default_kill_after(Duration ttl) { return std::min<Duration>(5s, ttl / 6); }

Duration fitting_kill_after(Duration chosen, Duration ttl) {
  return 2 * chosen < ttl ? chosen : default_kill_after(ttl);
}

}  // namespace dlock
