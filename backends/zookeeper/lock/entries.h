// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/zookeeper/lock/view.h"
#include "backends/zookeeper/session/calls.h"
#include "lib/lock/fencing_token.h"
#include "lib/lock/lock_name.h"

namespace dlock::zookeeper {

/// A hold and those that have entered it (re-entry). Each has an ephemeral node of its own session in a directory
/// beside all locks, where no other library looks. Whoever comes or goes also writes the data of the hold's first node,
/// at the version that it has seen: so nobody leaves on an old idea of who else is inside.
struct Hold {
  std::vector<std::string> paths;  ///< of its nodes, the one with the lowest number first
  FencingToken token;              ///< their czxid
  std::string entries;             ///< entries_directory() of its key
};

std::string entries_directory(const std::string& root, const LockName& name);

/// The path of an entry, before it is made.
std::string new_entry(const Hold& hold);

struct HoldSeen {
  bool is_there = false;
  std::string data;  ///< of its first node
  int version = -1;
  std::vector<std::string> entries;  ///< names
};

/// As the leader knows it. `watch`: tells of the next change of the directory of entries.
Result<HoldSeen> read_hold(Calls& calls, const Hold& hold, bool watch, TimePoint until, Control* control);

/// Enters it if its first node is still at `version`, where it had these data. False: it is not; look again.
Result<bool> enter_hold(Calls& calls, const Hold& hold, const std::string& data, int version, const std::string& entry,
                        const std::string& who, TimePoint until, Control* control);

/// Says that whose hold it is has gone. False: it is not at `version` any more.
Result<bool> mark_ended(Calls& calls, const Hold& hold, const std::string& data, int version, TimePoint until);

/// Takes the entry away; frees the lock if it is the last one of a hold that has ended. Lost if the hold is gone.
Result<void> leave_hold(Calls& calls, const Hold& hold, const std::string& entry, TimePoint until);

/// Adds to the holders how often they have been entered. One more request if any has been.
Result<void> count_entries(Calls& calls, const std::string& entries, std::vector<Present>& present, TimePoint until,
                           Control* control);

}  // namespace dlock::zookeeper
