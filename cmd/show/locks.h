// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cmd/options/options.h"
#include "lib/lock/lock_admin.h"

namespace dlock {

/// The locks that the command line asks for: its KEYS, where a pattern means the live locks that it matches; without
/// any KEY, all live ones, then those of stores beside this one. In canonical order within a store, each once.
Result<LiveLocks> look_at_locks(const Options& options, LockAdmin& backend);

/// What to say of a lock that is free because it may not be the one that was meant: the store has no trace of it, or a
/// live name is near, or one of the same name is held in a store beside this one. Empty for any other. Looks through
/// all live locks unless the store has a trace.
std::string why_free_text(const LockState& state, LockAdmin& backend);

/// "N locks in STORE cannot be read": Denied. REQUIRES: some are.
Error unreadable_error(const LiveLocks& live, const LockAdmin& backend);

}  // namespace dlock
