// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/zookeeper/lock/ensemble.h"
#include "backends/zookeeper/lock/record.h"
#include "backends/zookeeper/lock/rules.h"
#include "backends/zookeeper/session/calls.h"
#include "lib/lock/holder.h"

namespace dlock::zookeeper {

/// A holder or waiter of a lock, of dlock or of another library, judged by its own protocol.
struct ParticipantNode {
  Participant participant;
  bool holds = false;
  std::string path;                  ///< of its node
  NodeName name;                     ///< the same
  const char* kind = "";             ///< whose it is: "Curator mutex"
  bool is_read = false;              ///< false: a waiter that is only counted; what follows is not known, nor who it is
  FencingToken came;                 ///< the order in which they came: its node's number
  NodeStat stat;                     ///< of its node
  std::string data;                  ///< the same
  std::optional<HolderRecord> ours;  ///< nullopt: another library's
  std::optional<WallTime> opens;  ///< of a lease (standing_leases.h): the end of its lock-delay, by the leader's clock
};

/// Holders and waiters in the directories of one lock, after a sync, in the order in which they came: the holders and
/// the first `listed` waiters of each queue are read, the others only counted. A lease that is over is left out, unless
/// its lock-delay runs. Unsupported for a directory that no lock of recipe=simple can have the name of.
Result<std::vector<ParticipantNode>> read_present(Calls& calls, Recipe recipe, const std::string& directory,
                                                  std::size_t listed, ServerClock& clock, TimePoint until,
                                                  Control* control);

/// When the first lease among them opens; nullopt: there is none. `theirs`: the leader's clock at `now`.
std::optional<TimePoint> first_end(const std::vector<ParticipantNode>& present, TimePoint now, WallTime theirs);

/// `own`: our node, if we wait.
LockState state_of(const LockName& name, const std::string& store, const std::vector<ParticipantNode>& present,
                   const std::string& own = {});

struct Node {
  std::string path;
  NodeStat stat;
  std::string data;
};
/// Adds the data of its node. Pure.
void fill(ParticipantNode& present, Node node);

/// Holders and waiters, from the names in a directory alone, without their data. Pure.
std::vector<ParticipantNode> present_in(const std::string& directory, const std::vector<std::string>& children);

/// A node and the names of its children.
struct TreeNode {
  std::string path;  ///< "" for the root of the ensemble
  NodeStat stat;
  std::vector<std::string> children = {};
  std::optional<Error> closed = {};  ///< why we may not list it: then neither its children nor its stat are known
};

/// Lists the nodes below `root` that may be directories of locks, parents first; not /zookeeper, and nothing below
/// contenders or dlock's own directories. Nodes that are removed in between are left out; a `root` that we may not
/// list is Denied.
Result<std::vector<TreeNode>> walk(Calls& calls, const std::string& root, TimePoint until);

}  // namespace dlock::zookeeper
