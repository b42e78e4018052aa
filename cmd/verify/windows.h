// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cmd/verify/history.h"

namespace dlock {

/// The sections that got their lock, by key, in the order in which they did. Without those of the stock, which hold no
/// lock.
std::map<std::string, std::vector<const Section*>> begun_by_key(const VerifyHistory& history);

/// Whether there was an outage at any time from `from` to `to` that this section had: of the server, or of the network
/// if it goes through the proxy. An outage counts for a moment longer than it lasts.
bool was_outage(const VerifyHistory& history, const Section& section, TimePoint from, TimePoint to);

/// How much longer than usual the lock of `key` may be out of reach from `from` to `to`, because of the faults in that
/// time: for each fault of a section of this key (but for those of `except`) and for each outage, its length and one
/// lease: that of the section, or else `lease`.
Duration allowance(const VerifyHistory& history, const std::string& key, TimePoint from, TimePoint to, Duration lease,
                   const Section* except = nullptr);

}  // namespace dlock
