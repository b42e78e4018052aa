// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/zookeeper/session/calls.h"
#include "lib/lock/fencing_token.h"

namespace dlock::zookeeper {

/// recipe=simple: the nodes of one holder after the other have the same name, and a deletion distinguishes them by the
/// version of their data alone, which begins at 0 each time. Raises that of the node `path` of the holder with this
/// `token` so far that the next one's is another, and returns it. Conflict if the node is another's by now.
Result<int> stamp_one_node(Calls& calls, const std::string& path, FencingToken token, TimePoint until);

/// The refusal of a key whose node `path` no session owns.
Error is_directory(const Calls& calls, const std::string& path);

}  // namespace dlock::zookeeper
