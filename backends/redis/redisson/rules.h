// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "backends/redis/redisson/names.h"
#include "lib/base/result.h"
#include "lib/base/time.h"
#include "lib/lock/lock_spec.h"

namespace dlock::redis {

/// Unsupported, naming the option, if Redisson's object of this kind cannot do what `spec` asks. Pure.
Result<void> check_fits(RedissonKind kind, const LockSpec& spec);

/// Unsupported for every kind without fencing tokens, that is all but RFencedLock.
Result<void> check_has_tokens(RedissonKind kind);

/// Whether objects of this kind have permits, and so several holders at a time.
bool hands_out_permits(RedissonKind kind);

/// How long a dlock in the queue of a fair lock may be silent; then it is passed over. Redisson adds as much to each
/// place.
inline constexpr Duration kFairWait = std::chrono::seconds(5);

/// Arguments of this kind's release script after FIELD, for `entry` ("": all of a hold). Pure.
std::vector<std::string> release_arguments(RedissonKind kind, std::string entry);

}  // namespace dlock::redis
