// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backends/local/context.h"
#include "lib/lock/key_memory.h"
#include "lib/lock/lock_session.h"
#include "lib/lock/lock_spec.h"

namespace dlock::local {

/// What this machine remembers of a key: its slots, as lines of the key's own file. The highest token of a resource has
/// a file of its own (fence_file.h); who frees a lock by force stands in the holder's record. `context` outlives it.
std::unique_ptr<KeyMemory> slot_memory(LocalContext& context);

/// A slot of --once as OnceSession takes it (keeper/slot_lock.h). REQUIRES: spec.name.is_slot().
std::unique_ptr<LockSession> slot_session(LocalContext& context, const LockSpec& spec);

}  // namespace dlock::local
