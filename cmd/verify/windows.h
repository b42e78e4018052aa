// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cmd/verify/chronicle.h"

namespace dlock {

/// The sections that have begun, by key, in the order in which they did; without sales, which hold no lock.
std::map<std::string, std::vector<const Section*>> begun_by_key(const Chronicle& chronicle);

/// Was the network of this section, or the server, disturbed at any time from `from` to `to`? An outage is over a
/// moment after its end.
bool was_outage(const Chronicle& chronicle, const Section& section, TimePoint from, TimePoint to);

/// How much longer than usual a lock of `key` may be out of reach between the two, for all that was done meanwhile: for
/// each one that was hit (besides `except`), and each outage, its own length and a lease.
Duration allowance(const Chronicle& chronicle, const std::string& key, TimePoint from, TimePoint to, Duration lease,
                   const Section* except = nullptr);

}  // namespace dlock
