// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "backends/redis/wire/reply.h"
#include "lib/base/result.h"

namespace dlock::redis {

/// What an error reply means to a person; nullopt if `reply` is none.
std::optional<Error> error_of(const Reply& reply, const std::string& store);

/// An answer that our script cannot have given: somebody else writes where dlock's keys are.
Error not_understood(const std::string& store);

/// What an error reply of a server means to us: Denied, Unavailable (it may pass), Unsupported (no Tair).
Error reply_error(const Reply& reply);

}  // namespace dlock::redis
