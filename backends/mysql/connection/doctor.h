// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backends/mysql/connection/settings.h"
#include "lib/base/runtime.h"
#include "lib/lock/lock_admin.h"

namespace dlock::mysql {

/// The variables of one server by name, in lower case. MySQL and MariaDB have different ones.
using Variables = std::map<std::string, std::string>;

/// Judges one server by its variables. Pure. `alone`: the URL names no other server.
std::vector<Finding> judge_variables(const std::string& server, const Variables& variables, Strategy strategy,
                                     bool alone);

/// Judges whether a connection is encrypted (`cipher` is not empty) or stays on this machine. Pure.
Finding judge_encryption(const Endpoint& endpoint, const std::string& cipher);

/// Asks and judges every server of the URL: reachable, encrypted, version, clock, settings that endanger locks, tables,
/// rights.
std::vector<Finding> diagnose_servers(const Settings& settings, const Dial& dial, const Runtime& runtime);

}  // namespace dlock::mysql
