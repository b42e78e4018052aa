// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "backends/redis/wire/reply.h"

namespace dlock::redis {

/// Whether `reply` is a message of a subscription, not the answer to a command.
bool is_pushed(const Reply& reply);

bool is_subscription(const Command& command);

/// How many replies `command` gets: one, but a subscription one for each channel.
std::size_t answers_to(const Command& command);

}  // namespace dlock::redis
