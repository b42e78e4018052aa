// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/zookeeper/lock/view.h"
#include "backends/zookeeper/session/calls.h"
#include "lib/lock/fencing_token.h"
#include "lib/lock/lock_name.h"

namespace dlock::zookeeper {

/// A hold and the entries of those that have entered it (re-entry). An entry is an ephemeral node of the entering
/// process's session, in a directory beside all locks, where no other library looks. Entering and leaving also write
/// the data of the hold's first node, at the version that was read before, so nobody leaves without having seen who is
/// inside. Errors are those of Calls, and Unavailable when the server refuses to note the change.
struct Hold {
  std::vector<std::string> paths;  ///< of its nodes, the one with the lowest number first
  FencingToken token;              ///< the czxid of its nodes
  std::string entries;             ///< entries_directory() of its key
};

std::string entries_directory(const std::string& root, const LockName& name);

/// The path for a new entry, which nobody else has; makes no node.
std::string new_entry(const Hold& hold);

struct HoldSeen {
  bool is_there = false;  ///< false: the hold is over; of the rest only `entries` is set
  std::string data;       ///< of its first node
  int version = -1;
  std::vector<std::string> entries;  ///< names of nodes in the directory of entries
};

/// Reads the hold after a sync, so as the leader knows it. `watch`: also watches the directory of entries for its next
/// change.
Result<HoldSeen> read_hold(Calls& calls, const Hold& hold, bool watch, TimePoint until, Control* control);

/// Adds `entry`, with `who` as its data, if the first node of `hold` is still at `version`; `data` is what that node
/// held then, and is written again. True also if `entry` exists already. False: the node has changed or is gone, so
/// call read_hold() again.
Result<bool> enter_hold(Calls& calls, const Hold& hold, const std::string& data, int version, const std::string& entry,
                        const std::string& who, TimePoint until, Control* control);

/// Marks the hold as given back by its owner, for those still inside; `data` is the new one of its first node. False:
/// that node is not at `version` any more.
Result<bool> mark_ended(Calls& calls, const Hold& hold, const std::string& data, int version, TimePoint until);

/// Removes `entry`; if it is the last one of a hold that is marked as ended, frees the lock too. Lost if the hold is
/// gone.
Result<void> leave_hold(Calls& calls, const Hold& hold, const std::string& entry, TimePoint until);

/// Sets the count of each holder in `present` that has been entered, from the names in the directory `entries`. Sends a
/// request only if there is such a holder.
Result<void> count_entries(Calls& calls, const std::string& entries, std::vector<Present>& present, TimePoint until,
                           Control* control);

}  // namespace dlock::zookeeper
