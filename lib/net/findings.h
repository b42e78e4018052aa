// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/lock/lock_admin.h"
#include "lib/net/addresses.h"

namespace dlock {

/// What `dlock doctor` says of every server in the same words.

Finding answers_finding(const std::string& server, Duration took);

/// Of a server's clock, in µs since 1970, and `ours`, read right after its answer: a warning when it is more than a
/// second off, either way. Leases count by rates, but people read the times.
Finding clock_finding(const std::string& server, std::int64_t theirs_us, WallTime ours);

/// `by` may say how it is encrypted. A connection that stays on this machine needs nothing.
Finding encryption_finding(const Endpoint& server, bool encrypted, const std::string& by = {});

/// Of a store where each holder and each waiter has one.
Finding connections_finding(const std::string& server, const std::string& most);

/// `kind`: what a server is that takes no changes. `alone`: the URL names no other; its scheme is `scheme`.
Finding writes_finding(const std::string& server, bool read_only, const char* kind, bool alone, const char* scheme);

/// Whether the findings name more than one server that takes changes.
bool are_several_writable(const std::vector<Finding>& findings);
Finding several_writable(const std::string& store, std::string remedy);

}  // namespace dlock
