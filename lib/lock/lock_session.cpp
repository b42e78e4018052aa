// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/lock_session.h"

namespace dlock {

std::optional<SessionEvent> wait_for_event(LockSession& session, Clock& clock, std::optional<TimePoint> until) {
  std::vector<pollfd> fds;
  for (;;) {
    const TimePoint now = clock.now();
    if (auto event = session.next_event(now)) return event;
    if (until && now >= *until) return std::nullopt;
    fds.clear();
    session.add_interest(fds);
    clock.wait(fds, earlier(until, session.wake_at()));
  }
}

std::variant<Granted, Refused> acquire_and_wait(LockSession& session, Clock& clock) {
  session.acquire(clock.now());
  for (;;) {
    auto event = wait_for_event(session, clock, std::nullopt);
    if (auto* granted = std::get_if<Granted>(&*event)) return std::move(*granted);
    if (auto* refused = std::get_if<Refused>(&*event)) return std::move(*refused);
    if (std::holds_alternative<Withdrawn>(*event)) {
      return Refused{{ErrorCode::kCancelled, "the wait was given up"}, std::nullopt};
    }
    if (auto* lost = std::get_if<Lost>(&*event)) return Refused{{ErrorCode::kLost, lost->why}, std::nullopt};
    if (auto* gone = std::get_if<SessionGone>(&*event)) {
      return Refused{{gone->code, gone->why}, std::nullopt};
    }
  }
}

Result<void> release_and_wait(LockSession& session, Clock& clock, Duration within) {
  const TimePoint deadline = clock.now() + within;
  session.release(deadline);
  while (auto event = wait_for_event(session, clock, deadline)) {
    if (std::holds_alternative<Released>(*event)) return {};
    if (auto* unconfirmed = std::get_if<ReleaseUnconfirmed>(&*event)) return std::move(unconfirmed->error);
    if (auto* lost = std::get_if<Lost>(&*event); lost && lost->final) return Error{ErrorCode::kLost, lost->why};
    if (auto* gone = std::get_if<SessionGone>(&*event)) return Error{gone->code, gone->why};
  }
  return Error{ErrorCode::kUnavailable, "the release was not confirmed in time"};
}

}  // namespace dlock
