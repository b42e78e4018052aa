// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/zookeeper/lock/record.h"
#include "backends/zookeeper/lock/rules.h"
#include "backends/zookeeper/session/calls.h"
#include "lib/lock/holder.h"

namespace dlock::zookeeper {

/// A holder or waiter of a lock, of dlock or of another library, judged by its own protocol.
struct Present {
  Participant participant;
  bool holds = false;
  std::vector<std::string> paths;    ///< of its nodes, the one with the lowest number first
  NodeStat stat;                     ///< of paths.front()
  std::string data;                  ///< of paths.front()
  std::optional<HolderRecord> ours;  ///< nullopt: another library's
  std::int64_t number = 0;
};

/// Reads who holds and waits in the directories of one lock, after a sync; in the order of the queue.
Result<std::vector<Present>> read_present(Calls& calls, Recipe recipe, const std::string& directory, TimePoint until,
                                          Control* control);

LockState state_of(const LockName& name, const std::string& store, const std::vector<Present>& present);

/// A node whose data was read.
struct Node {
  std::string path;
  NodeStat stat;
  std::string data;
};
/// Who holds and waits, from the names in a directory and those nodes of it that were read. Pure.
std::vector<Present> present_in(const std::vector<std::string>& children, const std::vector<Node>& nodes);

}  // namespace dlock::zookeeper
