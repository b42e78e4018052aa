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

/// Somebody who holds a lock or waits for it, ours or foreign, by its own protocol.
struct Present {
  Participant participant;
  bool holds = false;
  std::vector<std::string> paths;
  NodeStat stat;                     ///< of its first node, the one with the lowest number
  std::string data;                  ///< of the same
  std::optional<HolderRecord> ours;  ///< if it is a dlock
  std::int64_t number = 0;
};

/// Everybody in the directories of one lock, as the leader knows it; in the order of the queue.
Result<std::vector<Present>> read_present(Calls& calls, Recipe recipe, const std::string& directory, TimePoint until,
                                          Control* control);

LockState state_of(const LockName& name, const std::string& store, const std::vector<Present>& present);

/// Of the names in a directory (with their nodes, where somebody has read them). Pure.
struct Node {
  std::string path;
  NodeStat stat;
  std::string data;
};
std::vector<Present> present_in(const std::vector<std::string>& children, const std::vector<Node>& nodes);

}  // namespace dlock::zookeeper
