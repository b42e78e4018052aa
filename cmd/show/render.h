// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cmd/show/output.h"
#include "lib/base/time.h"
#include "lib/history/history.h"
#include "lib/lock/holder.h"

namespace dlock {

/// A remark on a lock, on a line of its own.
using Remarks = std::map<LockName, std::string>;

/// Locks as text for people: a heading, then a line for each holder, remembered slot and waiter. With a width no line
/// is wider, except for a key or a host that is. With a height the queues are cut, each to its first waiter at most,
/// and end in how many more there are; holders are never left out.
std::string inspect_text(const std::vector<LockState>& states, WallTime now, const Look& look,
                         const Remarks& remarks = {});

/// The same as dlock.inspect/2: one object, without the newline. Unknown fields are null. `last` is its last hold, if
/// it is free and that is known.
std::string inspect_json(const LockState& state, const Episode* last = nullptr);

/// participant_text() where there is little room: "ci-4 (deploy.sh)".
std::string short_participant_text(const Participant& participant);

/// The reason that it gives: one line of 80 columns at most, safe to print.
std::string reason_text(const Participant& participant);

/// How long ago that was.
Duration age(WallTime since, WallTime now);

}  // namespace dlock
