// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/local/context.h"
#include "backends/local/files/lock_dir.h"
#include "lib/lock/admin_common.h"

namespace dlock::local {

/// The lock files of keys: "<32 hex digits>.lock".
bool is_key_file(const std::string& name);

/// The locks whose files lie in `dir`.
Result<KnownLocks> locks_in(const LockDir& dir);
/// One of them; nullopt: it has no file there.
Result<std::optional<LockState>> state_in(const LockDir& dir, const LocalContext& context, const LockName& name);

/// For root, whose own directory is the default one: the same of local:system and of the directories of all users in
/// /etc/passwd, each with its own store and whose it is. Others may not look there; for them there are none.
LiveLocks look_at_neighbours(const LocalContext& context);

}  // namespace dlock::local
