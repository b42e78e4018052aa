// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "lib/base/clock.h"
#include "lib/base/result.h"

namespace dlock::zookeeper {

/// Answer of the server at `address` ("10.0.0.1:2181", numeric) to a word of four letters ("srvr"). Unavailable if
/// it does not by `until`.
Result<std::string> ask_server(const std::string& address, std::string_view word, TimePoint until, Clock& clock);

/// The "name: value" and "name=value" lines of such an answer. Pure.
std::map<std::string, std::string> parse_answer(std::string_view text);

}  // namespace dlock::zookeeper
