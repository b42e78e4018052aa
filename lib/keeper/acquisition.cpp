// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/acquisition.h"

#include <utility>
#include <vector>

namespace dlock {

std::optional<AcquisitionSteps::Answer> Acquisition::run(Control& control) {
  control_ = &control;
  while (true) {
    const TimePoint began = clock_.now();
    const TimePoint end = patience().attempt_end(began);
    auto attempt = acquirer_.attempt(end, control);
    if (control.stop_requested()) break;
    if (auto answer = follow(std::move(attempt), began, end, control)) return answer;
    if (control.stop_requested()) break;
  }
  steps_.withdraw();
  return std::nullopt;
}

/// nullopt: there is another attempt, unless control wants an end.
std::optional<AcquisitionSteps::Answer> Acquisition::follow(Acquirer::Attempt attempt, TimePoint began, TimePoint end,
                                                            Control& control) {
  if (auto* granted = std::get_if<Granted>(&attempt)) return steps_.granted(std::move(*granted));
  const auto* failed = std::get_if<Error>(&attempt);
  auto refused = failed ? steps_.failed(*failed, began, end) : steps_.busy(std::get<Acquirer::Busy>(attempt).foreign);
  if (!refused && failed) rest(clock_, steps_.attempt_at(), &control);  // "who" is answered once the store can be asked
  else if (!refused) refused = wait_for_turn(control);
  if (refused) return std::move(*refused);
  return std::nullopt;
}

std::optional<Refused> Acquisition::wait_for_turn(Control& control) {
  const bool again = acquirer_.wait(patience().wait_end(clock_.now()), control);
  if (control.stop_requested()) return std::nullopt;
  if (steps_.is_given_up()) return steps_.give_way();
  return again ? std::nullopt : std::optional(steps_.over());
}

bool Acquisition::wait_on(const Source& source, std::optional<TimePoint> until, Control& control) {
  while (true) {
    const bool is_ready = source.is_ready();
    if (control.stop_requested()) return false;
    const bool asked = steps_.answer_who(control.take_who());
    if (is_ready) return true;
    if (steps_.gives_way()) return false;
    if (asked) continue;  // an event that came during it would not end the sleep
    if (until && clock_.now() >= *until) return false;
    source.sleep(earlier(until, steps_.look_at()));
  }
}

void Acquisition::pause(std::optional<TimePoint> until, Control& control) {
  const auto sleep = [&](std::optional<TimePoint> end) {
    std::vector<pollfd> fds;
    control.add_interest(fds);
    clock_.wait(fds, end);
  };
  wait_on({[] { return false; }, sleep}, until, control);
}

/// On a connection of its own, hence with the time of a first contact.
Result<void> Acquisition::revoke(const LockState& shown, const std::string& by) {
  return control_->revoke(shown, by, patience().look_end(clock_.now(), patience().connect_timeout()));
}

}  // namespace dlock
