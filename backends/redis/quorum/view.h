// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/redis/quorum/questions.h"
#include "backends/redis/quorum/rules.h"
#include "backends/redis/quorum/server_group.h"
#include "lib/lock/holder.h"

namespace dlock::redis {

struct Viewed {
  const ServerGroup& servers;
  const LockName& name;
  const std::string& store;
};

/// The holders that the servers of one round named, each as most of its servers know it; those that cannot have a
/// majority are left out if asked.
LockState view_of(const Viewed& lock, const std::vector<Ballot>& ballots, const std::vector<Vote>& votes, WallTime now,
                  bool only_majorities);

}  // namespace dlock::redis
