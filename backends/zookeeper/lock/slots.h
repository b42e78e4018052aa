// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/zookeeper/lock/rules.h"
#include "backends/zookeeper/session/calls.h"
#include "lib/lock/lock_spec.h"

namespace dlock::zookeeper {

/// The nodes of a directory whose data name the taken slots: one for each holder of a permit, which are the lowest
/// `permits` of the contenders. Pure.
std::vector<std::string> permit_nodes(const std::vector<std::string>& children, int permits);

/// The node before it, of the same holder, which has the same data unless one of them was written to. Pure.
std::optional<std::string> twin_of(const std::string& node, const std::vector<std::string>& children);

/// Gives a holder of a permit (Rule::kBridgePermits) its slot (lib/lock/slots.h); if it has one already, because an
/// answer was lost, returns that. The slot stands in the data of its nodes `own`, and is free when they are removed.
/// The same transaction also writes the unchanged data of the directory, at the version read before the other slots
/// were: of two holders that choose at once, one is refused and chooses again. Lost if our nodes are gone.
Result<std::string> take_slot(Calls& calls, const Stage& stage, const std::vector<std::string>& own,
                              const LockSpec& spec, TimePoint until, Control* control);

}  // namespace dlock::zookeeper
