// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "backends/redis/wire/reply.h"
#include "lib/lock/holder.h"

namespace dlock::redis {

/// Who holds a lock of the native layout and who waits, from the answer of scripts/read_state.lua. Into `state`, whose
/// name and store are known. False for what that script cannot have answered.
bool read_view(const std::vector<Reply>& parts, LockState& state);

}  // namespace dlock::redis
