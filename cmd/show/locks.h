// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/options/options.h"
#include "lib/base/clock.h"
#include "lib/lock/lock_admin.h"

namespace dlock {

/// The locks of the KEYS, where a pattern means the live ones that it matches; without any KEY all live ones, then
/// those of stores beside this one. Slots that have run only where they are named. In canonical order within a store,
/// each once, and with how often those of this machine were entered.
Result<LiveLocks> look_at_locks(const Options& options, LockAdmin& backend, Clock& clock);

/// How long the one has held it that has held it longest; nullopt if that is not known of any.
std::optional<Duration> oldest_hold(const LockState& state, WallTime now);
/// Whether it is known of each holder since when it holds the lock.
bool knows_every_age(const LockState& state);

/// A remark on a lock that is free, if the user may have meant another one: the store has no trace of this key, a lock
/// with a similar name is live, or one of the same name is held in a store beside this one. Empty if there is nothing
/// to remark. Asks the store for all live locks, unless it has a trace of this one.
std::string why_free_text(const LockState& state, LockAdmin& backend);

/// Busy: the lock is free in this store, which `options` do not name, and held in one beside it; with the line that
/// reaches that one: `command`, "revoke", with its backend and key.
std::optional<Error> held_elsewhere(const LockState& state, const Options& options, LockAdmin& backend,
                                    const std::string& command);

/// "N locks in STORE cannot be read: NAMES (WHY)", with the code Denied. REQUIRES: live.unreadable is not empty.
Error unreadable_error(const LiveLocks& live, const LockAdmin& backend);

}  // namespace dlock
