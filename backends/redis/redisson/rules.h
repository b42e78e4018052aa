// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/redis/redisson/names.h"
#include "lib/base/result.h"
#include "lib/lock/lock_spec.h"

namespace dlock::redis {

/// Unsupported, naming what was asked for, where Redisson's object of this kind has no such thing. Pure.
Result<void> check_fits(RedissonKind kind, const LockSpec& spec);

/// Only RFencedLock has fencing tokens: Unsupported for the others.
Result<void> check_has_tokens(RedissonKind kind);

/// Its holders have permits: several at a time.
bool hands_out_permits(RedissonKind kind);

}  // namespace dlock::redis
