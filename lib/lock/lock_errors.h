// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "lib/base/result.h"
#include "lib/lock/fencing_token.h"
#include "lib/lock/lock_name.h"
#include "lib/lock/lock_spec.h"

namespace dlock {

/// For stores that have only exclusive locks. Unsupported, naming the option, if `spec` asks for more.
Result<void> check_exclusive_only(const LockSpec& spec, const std::string& store);

// Errors and notes about one lock that are the same in every store.

/// Lost: `token` is not that of a present holder.
Error no_present_holder(FencingToken token, const LockName& name);

/// Lost: the owner that a renewal or release names does not hold the lock, or no longer.
Error not_held(const LockName& name);

/// Lost: `resource` has seen a higher token, `seen`; by which server, where several are asked.
Error token_too_old(const LockName& resource, FencingToken token, const std::string& seen, const std::string& by = {});

/// Lost: `slot` has not run, or is not remembered any more.
Error not_remembered(const LockName& slot);

/// Conflict: the holders are not those that were shown.
Error other_holders(const LockName& name);

/// Unsupported: the holder cannot be asked to end, because of `why`.
Error cannot_be_asked(const LockName& name, const std::string& why);

/// Conflict: others hold the lock in another mode or with other permits: `held` is "shared", "with --permits 3".
Error held_otherwise(const LockName& name, const std::string& held);

/// Unsupported: an exclusive lock is wanted inside a shared hold of the same lock.
Error would_wait_for_itself(const LockName& name);

/// Why `inner` may not enter a hold of its lock in `mode`, with so many permits; nullopt: it may. Under an exclusive
/// hold everything may be entered.
std::optional<Error> why_not_entered(Mode mode, int permits, const LockSpec& inner);

/// Holder's description in a store that keeps a place for the lock-delay after a force-release.
inline constexpr char kDelayAfterForce[] = "no holder: force-released, lock-delay runs";

/// Data in the place of a lock.
inline constexpr char kForeignData[] = "data, not a lock of a known kind";

/// Misconfigured: `what` ("a list") is in the place of the lock. Nothing ends it, so waiting for it is pointless.
Error holds_data(const LockName& name, const std::string& what);

}  // namespace dlock
