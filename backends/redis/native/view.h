// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "backends/redis/wire/reply.h"
#include "lib/lock/holder.h"

namespace dlock::redis {

/// Fills the holders and waiters of `state`, which has its name and store, from the answer of scripts/read_state.lua of
/// the native layout. False for parts that the script cannot have answered.
bool read_view(const std::vector<Reply>& parts, LockState& state);

}  // namespace dlock::redis
