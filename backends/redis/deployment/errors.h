// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "backends/redis/wire/reply.h"
#include "lib/base/result.h"
#include "lib/lock/lock_name.h"

namespace dlock::redis {

/// The error that `reply` means for users of dlock; nullopt if it is not an error reply. Undone where the server
/// refuses whatever it is asked for.
std::optional<Error> error_of(const Reply& reply, const std::string& store);

/// The same error of a request to a holder: where the server is full, a force-release is what works.
Error of_request_to_holder(Error error, const LockName& name);

/// The error for an answer that our script cannot have given: another program writes to dlock's keys.
Error not_understood(const std::string& store);

/// The error that `reply`, an error reply to redlock:// or tair://, means: Denied, Unavailable (it may pass),
/// Unsupported (no Tair).
Error reply_error(const Reply& reply);

}  // namespace dlock::redis
