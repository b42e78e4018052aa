// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "lib/base/time.h"
#include "lib/base/unique_fd.h"
#include "lib/lock/holder.h"

namespace dlock {

/// The dlock that `participant` is, where that is a living process on this machine: one that is called dlock and is
/// older than the hold. Invalid if it is not, or if that is not known.
UniqueFd process_of_holder(const Participant& participant, WallTime now);

/// Adds what follows from the rest of a holder: the process of its command and whether that is stopped, if it runs on
/// this machine; when its lease was renewed.
void complete_holders(std::vector<Participant>& holders, WallTime now);

}  // namespace dlock
