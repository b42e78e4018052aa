// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lib/base/time.h"

namespace dlock::redis {

// Times of a lock in the layouts of one deployment (native, Redisson).

inline constexpr Duration kFirstWatch =
    std::chrono::milliseconds(200);  ///< a holder opens its second connection only after so long
inline constexpr Duration kGiveUpBudget = std::chrono::seconds(1);  ///< to take back what may have been created
inline constexpr Duration kFirstPollPause =
    std::chrono::milliseconds(10);  ///< between the first two attempts of a waiter that polls
inline constexpr Duration kLookBudget = std::chrono::seconds(1);  ///< to find out who holds the lock
/// After so many failures a holder no longer tries to open its channel: its renewals notice a loss, too, only later.
inline constexpr int kDeafEnough = 3;
inline constexpr Duration kLeastPatience =
    std::chrono::milliseconds(500);  ///< the least time of one attempt of several
/// The pause before a server that could not be reached is asked again.
inline constexpr Duration kAskAgainPause = std::chrono::milliseconds(40);

}  // namespace dlock::redis
