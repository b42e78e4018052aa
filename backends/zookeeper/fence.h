// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/zookeeper/session/calls.h"
#include "lib/lock/fencing_token.h"
#include "lib/lock/lock_name.h"

namespace dlock::zookeeper {

/// Remembers the highest token of `resource` in a persistent node in `directory`, changed only against the version that
/// was read. Lost for a lower token.
Result<void> pass_fence(Calls& calls, const std::string& directory, const LockName& resource, FencingToken token,
                        TimePoint until);

}  // namespace dlock::zookeeper
