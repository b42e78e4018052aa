// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/redis/deployment/deployment.h"
#include "backends/redis/wire/server_info.h"
#include "lib/base/runtime.h"
#include "lib/lock/lock_admin.h"

namespace dlock::redis {

/// Judges one server by its INFO: version, eviction, persistence, replicas. Pure.
std::vector<Finding> judge_info(const std::string& server, const ServerInfo& info);

/// Rights that a layout's user needs: the commands of its scripts, and its channels, with an unused one to try
/// that on, and the ACL rule that grants them all.
struct NeededRights {
  std::vector<std::string> commands;
  std::vector<std::string> rare;  ///< commands that no lock needs, only gc, or where a key is another's
  std::string channel;
  std::string channels_rule;
};

/// The commands that scripts of every layout use.
std::vector<std::string> commands_of_scripts();

/// Asks and judges every server of a deployment: reachable, round trip, clock, INFO, rights of this user.
std::vector<Finding> diagnose_servers(Deployment& deployment, const std::string& store, const NeededRights& needed,
                                      const Runtime& runtime);

}  // namespace dlock::redis
