// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <optional>
#include <vector>

#include "lib/base/clock.h"
#include "lib/keeper/control.h"

namespace dlock {

/// A wait for the answer of a server: to `until` (nullopt: for ever), or for 400 ms once `control` (may be nullptr)
/// wants an end, which is less than what a new connection would cost. What is there already is taken before the
/// control is asked:
///
///     for (AnswerWait wait(clock, until, control);; wait.poll(fds)) {
///       if (it has come) return it;
///       if (wait.is_over()) break the connection, because a late answer would have no reader
///     }
class AnswerWait {
 public:
  AnswerWait(Clock& clock, std::optional<TimePoint> until, Control* control)
      : clock_(clock), until_(until), soon_(clock.now() + kSoonAnswered), control_(control) {}

  bool is_over();
  bool is_stopped() const { return stopped_; }  ///< the control has wanted an end
  /// One poll of `fds` and of the control, until `look_at` at the latest.
  void poll(std::vector<pollfd>& fds, std::optional<TimePoint> look_at = std::nullopt);

 private:
  Clock& clock_;
  std::optional<TimePoint> until_;
  const TimePoint soon_;
  Control* const control_;
  bool waited_ = false;
  bool stopped_ = false;
};

}  // namespace dlock
