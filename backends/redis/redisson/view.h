// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "backends/redis/redisson/names.h"
#include "backends/redis/wire/reply.h"
#include "lib/lock/holder.h"

namespace dlock::redis {

/// Fills the holders and waiters of `state`, which has its name and store, from the answer of scripts/read_state.lua of
/// Redisson's layout. A dlock's owner is its handle, with the data of its record; a service's thread is
/// "UUID:threadId". Something else at the key counts as a holder whose note says what it is and which layout to name.
/// False for parts that the script cannot have answered.
bool read_redisson_view(RedissonKind kind, const std::vector<Reply>& parts, LockState& state);

}  // namespace dlock::redis
