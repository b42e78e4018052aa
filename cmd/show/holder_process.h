// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lib/base/time.h"
#include "lib/base/unique_fd.h"
#include "lib/lock/holder.h"

namespace dlock {

/// The dlock that `participant` is, where that is a living process on this machine: one that is called dlock and is
/// older than the hold. Invalid if it is not, or if nobody can tell.
UniqueFd process_of_holder(const Participant& participant, WallTime now);

/// participant_text() of a holder, with the process of its command where that can be found on this machine, and else
/// that of its dlock.
std::string holder_text(Participant participant, WallTime now);

}  // namespace dlock
