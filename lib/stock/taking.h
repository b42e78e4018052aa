// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "lib/base/clock.h"
#include "lib/keeper/insist.h"
#include "lib/lock/lock_spec.h"
#include "lib/stock/stock.h"

namespace dlock {

/// One try to take or to reserve, beginning with the segment `start`.
using StockAttempt = std::function<Result<StockAnswer>(int start, const CallLimit& limit)>;

/// Waits for a turn, as Stock::wait_for().
using StockPause = std::function<bool(const StockInProgress::Turn& turn, Duration pause, const CallLimit& limit)>;

/// Tries until there is an answer. While what is missing is set aside for commands that still run, it waits for them,
/// as `wait` says: it may come back. Short only if even that would be too little; Busy if the wait ended first, if a
/// command of the same request ran until then, or if others wrote to the store all the time. An answer that was lost on
/// the way is asked for again, until no one could be reached for the connection's time-out, and after a first answer as
/// long as `wait` says: Unavailable. Cancelled if `control` (may be nullptr) wants it.
Result<StockTaken> take_when_possible(const StockRequest& request, const StockAttempt& attempt, const WaitPolicy& wait,
                                      Clock& clock, Control* control, const StockPause& pause = {});

/// Asks again until `until` while the outcome is unknown, and never with no time left: what is sent then may be done
/// and has no answer. `control` may be nullptr.
template <typename Call>
auto insist(Call call, TimePoint until, Clock& clock, Control* control) {
  constexpr Duration kLeastTime = std::chrono::milliseconds(100);
  std::optional<Error> last;
  const auto in_time = [&]() -> decltype(call(CallLimit{until, control})) {
    if (last && clock.now() + kLeastTime >= until) return *last;
    auto answer = call(CallLimit{until, control});
    if (!answer) last = answer.error();
    return answer;
  };
  return insist(clock, until, kAskAgainPause, in_time, control).answer;
}

/// What is said of a call when the wait for its crowd is over: Busy, if nothing of it was done.
Error busy_if_crowded(Error error);

/// A segment to begin with, by chance.
int start_by_chance();

}  // namespace dlock
