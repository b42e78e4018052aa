// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/zookeeper/session/calls.h"
#include "lib/lock/fencing_token.h"

namespace dlock::zookeeper {

/// Remembers the highest token in a persistent node `directory`/`name`; changed only against the version that was read.
/// Lost for a lower token.
Result<void> pass_fence(Calls& calls, const std::string& directory, const std::string& name, FencingToken token,
                        TimePoint until);

}  // namespace dlock::zookeeper
