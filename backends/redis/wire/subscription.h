// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "backends/redis/wire/reply.h"

namespace dlock::redis {

/// A message of a subscription: no answer to anything.
bool is_pushed(const Reply& reply);

bool is_subscription(const Command& command);

/// How many replies come; a subscription is answered once a channel.
std::size_t answers_to(const Command& command);

}  // namespace dlock::redis
