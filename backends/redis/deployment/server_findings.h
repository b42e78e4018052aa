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

/// The right to a layout's channels: an unused channel to try it on, and the ACL rule that grants them all.
struct ChannelRights {
  std::string example;
  std::string grant;
};

/// Asks and judges every server of a deployment: reachable, round trip, clock, INFO, rights of this user.
std::vector<Finding> diagnose_servers(Deployment& deployment, const std::string& store, const ChannelRights& channels,
                                      const Runtime& runtime);

}  // namespace dlock::redis
