// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "lib/base/time.h"

namespace dlock {

/// The arithmetic of a lease, all of it pure (guarantees in man 7 dlock). A lease is believed until its deadline, which
/// counts from *before* the request went out, less the drift that two clocks may have:
///
///   sent                                             term_at     kill_at  deadline   sent + ttl
///    |--- renew --- renew --- retry, retry ... ---------|-- kill_after --|-- margin --|-- drift --|
///
/// Everywhere here `ttl` is how long the lease is after each renewal: what was asked for, or less where the store gives
/// less (Granted::lease).
///
/// The bound on clock *rates* instead of clock *times* is the one of Gray and Cheriton, "Leases", SOSP 1989, section 5.

/// 1 % of ttl + 2 ms.
constexpr Duration clock_drift(Duration ttl) { return ttl / 100 + std::chrono::milliseconds(2); }

/// The last moment at which the lease is believed.
constexpr TimePoint lease_deadline(TimePoint sent, Duration ttl) { return sent + ttl - clock_drift(ttl); }

/// Whether a lease that began at `sent` is still as good as new: its age is within the drift.
constexpr bool has_just_begun(TimePoint sent, TimePoint now, Duration ttl) { return now - sent <= clock_drift(ttl); }

/// min(1 s, 8 % of ttl): what a KILL needs to be obeyed, and dlock to be scheduled.
constexpr Duration kill_margin(Duration ttl) { return std::min<Duration>(std::chrono::seconds(1), ttl / 100 * 8); }

/// When KILL goes out if the lease was not renewed: deadline - margin.
constexpr TimePoint kill_at(TimePoint deadline, Duration ttl) { return deadline - kill_margin(ttl); }

/// When TERM goes out: deadline - margin - kill_after.
constexpr TimePoint term_at(TimePoint deadline, Duration ttl, Duration kill_after) {
  return kill_at(deadline, ttl) - kill_after;
}

/// The pause between retries of a renewal whose outcome is unknown: min(1 s, ttl / 20).
constexpr Duration renewal_retry(Duration ttl) { return std::min<Duration>(std::chrono::seconds(1), ttl / 20); }

/// A command is never started with less than this left: a tenth of the ttl.
constexpr Duration least_to_start(Duration ttl) { return ttl / 10; }

/// With less than this left, a lease is renewed before its grant is reported: two thirds of the ttl.
constexpr Duration least_to_tell(Duration ttl) { return ttl * 2 / 3; }

/// The default of --kill-after: min(5 s, ttl / 6).
constexpr Duration default_kill_after(Duration ttl) { return std::min<Duration>(std::chrono::seconds(5), ttl / 6); }

/// The chosen --kill-after, or the default where a lease of `ttl` leaves no room for that and to renew.
constexpr Duration fitting_kill_after(Duration chosen, Duration ttl) {
  return 2 * chosen < ttl ? chosen : default_kill_after(ttl);
}

}  // namespace dlock
