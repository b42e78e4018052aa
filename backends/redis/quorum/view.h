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

/// The state of a lock from the ballots of one round: each holder that a server has named, with the data that most of
/// these servers have of it. `only_majorities`: without holders that cannot have a majority. Pure.
LockState view_of(const Viewed& lock, const std::vector<Ballot>& ballots, const std::vector<Vote>& votes, WallTime now,
                  bool only_majorities);

}  // namespace dlock::redis
