// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backends/zookeeper/lock/ensemble.h"
#include "lib/base/runtime.h"
#include "lib/lock/lock_admin.h"

namespace dlock::zookeeper {

/// What a server says of itself, by "srvr" and (where its whitelist allows) "conf". Pure.
std::vector<Finding> judge_server(const std::string& address, const std::map<std::string, std::string>& srvr,
                                  const std::map<std::string, std::string>& conf);

/// How long a session may be, seen from a ttl that somebody might choose. Pure.
Finding judge_sessions(const std::string& store, Duration longest);

/// Every server, how long sessions may be, and what the user of the URL may do.
std::vector<Finding> diagnose_ensemble(Ensemble& ensemble, const Runtime& runtime);

}  // namespace dlock::zookeeper
