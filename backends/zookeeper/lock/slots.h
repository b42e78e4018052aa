// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/zookeeper/session/calls.h"
#include "lib/lock/lock_spec.h"

namespace dlock::zookeeper {

/// Gives a holder of a permit its slot (lib/lock/slots.h); if it has one already, because an answer was lost, returns
/// that. The slot stands in the data of its node `own`, and is free when that is removed. The same transaction also
/// writes the unchanged data of the directory, at the version read before the other slots were: of two holders that
/// choose at once, one is refused and chooses again. Curator's holders have no slots. Lost if our node is gone.
Result<std::string> take_slot(Calls& calls, const std::string& directory, const std::string& own, const LockSpec& spec,
                              TimePoint until, Control* control);

}  // namespace dlock::zookeeper
