// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/redis/deployment/deployment.h"
#include "backends/redis/deployment/names.h"
#include "lib/base/runtime.h"
#include "lib/lock/fencing_token.h"

namespace dlock::redis {

// Questions to the companion keys of locks (names.h), the same in every layout. Errors as of Deployment::call().

/// The names of all locks that have a companion with this suffix ("holders"), in canonical order.
Result<std::vector<LockName>> names_with_companion(Deployment& deployment, const std::string& suffix,
                                                   const std::string& store, const Runtime& runtime);

/// How many keys one request is about: what its answers may take, in memory and in time.
inline constexpr std::size_t kKeysAtOnce = 256;

/// Sends `commands[i]`, whose keys are in the slot of `keys[i]`, and gives back one reply each. What one server is in
/// charge of goes to it in one write.
std::vector<Result<Reply>> call_each(Deployment& deployment, const std::vector<std::string>& keys,
                                     const std::vector<Command>& commands, const Runtime& runtime, TimePoint until);

/// Who has freed the lock of `holder` by force, and why; empty if there is no note of it.
std::string forced_by_whom(Deployment& deployment, const NativeNames& names, const std::string& holder, TimePoint until,
                           Control* control);

/// Remembers `token` as the highest one that was shown for this resource. Lost if a higher one was shown before.
Result<void> pass_fence(Deployment& deployment, const NativeNames& names, FencingToken token, const std::string& store,
                        TimePoint until);

}  // namespace dlock::redis
