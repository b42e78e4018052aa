// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/lease.h"

#include <doctest/doctest.h>

namespace lease_test {

using namespace dlock;
using namespace std::chrono_literals;

TEST_CASE("A lease is believed until sent + ttl, less 1 % of the ttl and 2 ms") {
  const TimePoint sent(100s);
  CHECK(lease_deadline(sent, 30s) == TimePoint(100s + 29698ms));
  CHECK(lease_deadline(sent, 2s) == TimePoint(100s + 1978ms));
}

TEST_CASE("The order of a lease that is not renewed: TERM, KILL, deadline, the store's own end") {
  for (const Duration ttl : {1s, 2s, 5s, 30s, 3600s}) {
    CAPTURE(ttl.count());
    const TimePoint sent(1h);
    const TimePoint deadline = lease_deadline(sent, ttl);
    const Duration grace = default_kill_after(ttl);
    CHECK(sent + 2 * ttl / 3 < term_at(deadline, ttl, grace));  // one lost renewal is ridden out
    CHECK(term_at(deadline, ttl, grace) < kill_at(deadline, ttl));
    CHECK(deadline - kill_at(deadline, ttl) >= 79ms);
    CHECK(deadline < sent + ttl);
  }
}

TEST_CASE("The margins have ceilings") {
  CHECK(kill_margin(30s) == 1s);
  CHECK(kill_margin(2s) == 160ms);
  CHECK(default_kill_after(30s) == 5s);
  CHECK(default_kill_after(6s) == 1s);
  CHECK(renewal_retry(30s) == 1s);
  CHECK(renewal_retry(2s) == 100ms);
  CHECK(least_to_start(30s) == 3s);
}

}  // namespace lease_test
