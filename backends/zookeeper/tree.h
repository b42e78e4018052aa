// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backends/zookeeper/session/calls.h"

namespace dlock::zookeeper {

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
