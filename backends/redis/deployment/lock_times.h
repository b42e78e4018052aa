// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/base/time.h"

namespace dlock::redis {

/// How long what is done about a lock may take, in each layout that one server keeps.

inline constexpr Duration kFirstWatch = std::chrono::milliseconds(200);     ///< held for less: no second connection
inline constexpr Duration kGiveUpBudget = std::chrono::seconds(1);          ///< to take back what may have been created
inline constexpr Duration kFirstPollPause = std::chrono::milliseconds(10);  ///< of a poller
inline constexpr Duration kLookBudget = std::chrono::seconds(1);
inline constexpr int kDeafEnough = 3;  ///< then it is not tried any more: the renewals tell as well, only later
inline constexpr Duration kLeastPatience = std::chrono::milliseconds(500);  ///< with one attempt of several
/// Before a server that could not be reached is asked again.
inline constexpr Duration kAskAgainPause = std::chrono::milliseconds(40);

/// True, after a pause: the answer is missing, and there is time to ask again.
template <typename T>
bool may_ask_again(const Result<T>& answer, Clock& clock, TimePoint until) {
  if (answer || answer.error().code != ErrorCode::kUnavailable) return false;
  const TimePoint next = clock.now() + kAskAgainPause;
  if (next >= until) return false;
  std::vector<pollfd> nothing;
  while (clock.now() < next) clock.wait(nothing, next);
  return true;
}

}  // namespace dlock::redis
