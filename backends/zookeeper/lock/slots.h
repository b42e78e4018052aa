// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/zookeeper/lock/rules.h"
#include "backends/zookeeper/session/calls.h"
#include "lib/lock/lock_spec.h"

namespace dlock::zookeeper {

/// Those nodes of a directory whose data name the slots that are taken: one node for each holder of a permit,
/// the lowest `permits` of them. Pure.
std::vector<std::string> permit_nodes(const std::vector<std::string>& children, int permits);

struct SlotTaken {
  std::string slot;
  int version = 0;  ///< of the data of our first node, with the slot in it
};

/// Gives a holder of a permit (Rule::kBridgePermits) its slot (lib/lock/slots.h), or finds the one that it has got when
/// an answer was lost. The slot stands in the data of its nodes `own`, and goes with them. Whoever takes one also
/// writes the data of the directory, as they were, at the version that it saw before it looked at the others: of two
/// that choose at once, one has to look again. Lost if our nodes are gone.
Result<SlotTaken> take_slot(Calls& calls, const Stage& stage, const std::vector<std::string>& own, const LockSpec& spec,
                            TimePoint until, Control* control);

}  // namespace dlock::zookeeper
