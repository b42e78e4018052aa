// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cmd/options/options.h"
#include "lib/lock/lock_admin.h"

namespace dlock {

/// The locks that the command line asks for: its KEYS, where a pattern means the live locks that it matches; without
/// any KEY, all live ones. In canonical order, each once.
Result<LiveLocks> look_at_locks(const Options& options, LockAdmin& backend);

/// What to say of a lock that was looked at and of which the store has no trace: that, and the live name that may have
/// been meant. Empty for any other.
std::string never_taken_text(const LockState& state, LockAdmin& backend);

/// "N locks in STORE cannot be read": Denied. REQUIRES: some are.
Error unreadable_error(const LiveLocks& live, const LockAdmin& backend);

}  // namespace dlock
