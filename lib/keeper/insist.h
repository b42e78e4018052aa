// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/base/time.h"
#include "lib/keeper/control.h"

namespace dlock {

/// Before a store that could not be reached is asked again.
inline constexpr Duration kAskAgainPause = std::chrono::milliseconds(40);

/// The answer to a question that was repeated until it was known.
template <typename Answer>
struct Insisted {
  Answer answer;            ///< a Result; Unavailable: the reason of the last call that the deadline did not cut short
  bool unanswered = false;  ///< a call was Unavailable, and perhaps not undone: what was asked for may have been done
};

/// Calls `ask` again while its answer is Unavailable, after `pause`, until `until` or until `control` wants an end.
/// `ask` is called once at least, and is bounded by itself. For what may be done twice.
template <typename Ask>
Insisted<std::invoke_result_t<Ask&>> insist(Clock& clock, TimePoint until, Duration pause, Ask ask,
                                            Control* control = nullptr) {
  std::optional<Error> reason;
  bool unanswered = false;
  while (true) {
    auto answer = ask();
    if (answer || answer.error().code != ErrorCode::kUnavailable) return {std::move(answer), unanswered};
    unanswered = unanswered || !answer.error().undone;
    const TimePoint now = clock.now();
    const bool in_time = now < until;
    if (in_time || !reason) reason = answer.error();
    reason->undone = !unanswered;
    if (!in_time || !rest(clock, std::min(until, now + pause), control)) return {std::move(*reason), unanswered};
  }
}

/// The same for what is to be gone: not there any more (Lost) is what was wanted, after a call whose outcome is not
/// known: `unanswered`, or one of `ask` for which `has_answered` is false.
template <typename Ask, typename HasAnswered>
Result<void> insist_gone(Clock& clock, TimePoint until, Duration pause, bool unanswered, Ask ask,
                         HasAnswered has_answered) {
  const auto gone = insist(clock, until, pause, [&] {
    auto answer = ask();
    const bool unknown = !answer && answer.error().code == ErrorCode::kUnavailable && !has_answered();
    unanswered = unanswered || unknown;
    return answer;
  });
  const bool lost = !gone.answer && gone.answer.error().code == ErrorCode::kLost;
  return lost && unanswered ? Result<void>() : gone.answer;
}

}  // namespace dlock
