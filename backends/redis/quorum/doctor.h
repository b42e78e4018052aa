// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/redis/quorum/server_group.h"
#include "lib/lock/lock_admin.h"

namespace dlock::redis {

/// The servers of a RedLock, from each one's answer to INFO: how many answer, what each of them may forget.
std::vector<Finding> diagnose_redlock(const ServerGroup& group, const ServerGroup::Answers& info);

/// A Tair from its answer to INFO.
std::vector<Finding> diagnose_tair(const ServerGroup& group, const std::string& store, const ServerGroup::Answer& info);

/// Whether it is one: from its answer to `command` without arguments, which a Tair knows and a Redis does not.
Finding tair_commands(const ServerGroup& group, const std::string& command, const ServerGroup::Answer& answer);

}  // namespace dlock::redis
