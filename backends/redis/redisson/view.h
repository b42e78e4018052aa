// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "backends/redis/redisson/names.h"
#include "backends/redis/wire/reply.h"
#include "lib/lock/holder.h"

namespace dlock::redis {

/// Who holds an object of Redisson's and who waits, from the answer of scripts/read_state.lua. Into `state`, whose name
/// and store are known. What is at the key and not of this kind is a holder whose note says what it is, and the layout
/// to name. A holder of dlock's own has its handle as owner, and what the record beside it says; a thread of a service
/// "UUID:threadId". False for what that script cannot have answered.
bool read_redisson_view(RedissonKind kind, const std::vector<Reply>& parts, LockState& state);

}  // namespace dlock::redis
