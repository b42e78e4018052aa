// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/local/context.h"
#include "backends/local/files/rules.h"
#include "backends/local/files/store.h"
#include "lib/lock/holder.h"
#include "lib/lock/lock_spec.h"

namespace dlock::local {

/// One look at a key's file: what the locked bytes and the leases say, with the records that belong to them. Sees what
/// is locked through other descriptions than `file`'s own.
struct View {
  struct Seat {
    LiveTicket ticket;
    std::optional<LockFile::Placed> placed;  ///< nothing if its record is missing or torn
    std::string reason;                      ///< the whole of it
    bool is_lease = false;                   ///< it holds by its record, whatever runs inside of it
  };
  /// A lock-delay, during which nobody holds the lock.
  struct Delay {
    std::optional<TimePoint> until;  ///< nullopt: whoever comes next begins it
    bool forced = false;
  };
  Header header;
  std::optional<Delay> delay;
  std::vector<Seat> holders;
  std::vector<Seat> waiters;
};
/// `path_key`: the first in line is not a holder before it has the flock(2), too.
Result<View> read_view(const LockFile& file, bool path_key, TimePoint now);

/// The slot for a permit that is being given to a ticket of `file`: one that no other living holder has. REQUIRES: the
/// guard, under which every record of a holder with a slot is written.
Result<std::string> slot_for(const LockFile& file, Ticket revoked, const std::vector<LockFile::Placed>& leases,
                             const LockSpec& spec);

/// A view for people, with foreign flock(2) users of a path key; `own_pid` waits for flock(2) on our behalf.
LockState describe(const View& view, const LocalContext& context, const LockName& name, std::int64_t own_pid = 0);

}  // namespace dlock::local
