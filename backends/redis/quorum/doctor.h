// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/redis/quorum/server_group.h"
#include "lib/lock/lock_admin.h"

namespace dlock::redis {

/// Judges the servers of a RedLock by their answers to INFO: how many answer, and which data each may lose.
std::vector<Finding> diagnose_redlock(const ServerGroup& group, const ServerGroup::Answers& info);

/// Judges a Tair by its answer to INFO.
std::vector<Finding> diagnose_tair(const ServerGroup& group, const std::string& store, const ServerGroup::Answer& info);

/// Judges whether the server is a Tair, by its answer to EXCAS without arguments, which Redis does not have.
Finding tair_commands(const ServerGroup& group, const ServerGroup::Answer& answer);

}  // namespace dlock::redis
