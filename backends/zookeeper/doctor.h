// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backends/zookeeper/lock/ensemble.h"
#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/base/runtime.h"
#include "lib/lock/lock_admin.h"

namespace dlock::zookeeper {

/// Answer of the server at `address` ("10.0.0.1:2181", numeric) to a word of four letters ("srvr"). Unavailable if
/// it does not by `until`.
Result<std::string> ask_server(const std::string& address, std::string_view word, TimePoint until, Clock& clock);

/// The "name: value" and "name=value" lines of such an answer. Pure.
std::map<std::string, std::string> parse_answer(std::string_view text);

/// Judges one server by its answers to "srvr" and "conf", which is empty if its whitelist does not allow it. Pure.
std::vector<Finding> judge_server(const std::string& address, const std::map<std::string, std::string>& srvr,
                                  const std::map<std::string, std::string>& conf);

/// Judges `longest`, the longest session that the servers grant, by the ttl that it allows. Pure.
Finding judge_sessions(const std::string& store, Duration longest);

/// Asks and judges every server, the longest session, and the rights of the URL's user. Bounded by a few seconds.
std::vector<Finding> diagnose_ensemble(Ensemble& ensemble, const Runtime& runtime);

}  // namespace dlock::zookeeper
