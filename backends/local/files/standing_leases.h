// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/local/files/layout.h"
#include "backends/local/files/store.h"
#include "lib/base/clock.h"
#include "lib/base/time.h"

namespace dlock::local {

/// Tickets that hold without a process, by their records alone: what `acquire` and the rest of --at-least leave. Such a
/// lease lasts until its deadline on the boot clock, or for as long as the process lives that it is kept for, and no
/// longer than the boot. Nobody ends it: whoever comes next sees whether it lasts.

/// The boot that this machine runs since; all zeros without /proc. Read once.
const BootId& this_boot();

/// Times of an earlier boot mean nothing: no lock-delay and no lease of it lasts. `boot`: the present one.
void forget_earlier_boot(Header& header, const BootId& boot);

/// The lock stays closed until `end`, of this boot.
void begin_delay(Header& header, TimePoint end, const BootId& boot);

/// From now on the record of `ticket` may be a lease, in this boot.
void announce_lease(Header& header, Ticket ticket, const BootId& boot);

/// From now on `lease` ends after `ttl`.
void set_end(Record& lease, Duration ttl, const Clock& clock);

/// Whether `record` is a lease that lasts at `boot_ns`.
bool lasts(const Record& record, std::int64_t boot_ns);

/// All that last, oldest first, whether or not a process has a byte of their tickets as well (a run inside). Reads the
/// records only if `header` speaks of leases.
std::vector<LockFile::Placed> standing_leases(const LockFile& file, const Header& header, TimePoint now);

LiveTicket ticket_of(const Record& record);

/// `live` with the tickets of `leases`, oldest first.
std::vector<LiveTicket> with_leases(std::vector<LiveTicket> live, const std::vector<LockFile::Placed>& leases);

/// The first deadline of these; nullopt: none has one.
std::optional<TimePoint> first_end(const std::vector<LockFile::Placed>& leases);

}  // namespace dlock::local
