// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backends/mysql/connection/settings.h"
#include "lib/base/runtime.h"
#include "lib/lock/lock_admin.h"

namespace dlock::mysql {

/// What one server says of itself: its variables by name, in lower case. Some have another name, or none, elsewhere.
using Variables = std::map<std::string, std::string>;

/// What can be said of one server from its variables. Pure. `alone`: the URL names no other.
std::vector<Finding> judge_variables(const std::string& server, const Variables& variables, Strategy strategy,
                                     bool alone);

/// TLS is in use (`cipher` is not empty), or does not matter because nobody is in between. Pure.
Finding judge_encryption(const Endpoint& endpoint, const std::string& cipher);

/// Every server of the URL: reachable, encrypted, version, clock, settings that endanger locks, tables, rights.
std::vector<Finding> diagnose_servers(const Settings& settings, const Dial& dial, const Runtime& runtime);

}  // namespace dlock::mysql
