// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/acquisition.h"

#include <utility>

#include "lib/base/random.h"
#include "lib/keeper/insist.h"
#include "lib/lock/lock_errors.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr Duration kOutagePause = 125ms;  ///< when it may last long: as seldom as a lock is asked for by polling
constexpr Duration kWhoPause = 1s;        ///< before the holder is asked for again, where it is not known
constexpr Duration kSilence = 5s;         ///< of the store about the holder, before it is reported as an outage

}  // namespace

std::optional<std::variant<Granted, Refused>> Acquisition::run(Control& control) {
  ask_ = &control;
  while (true) {
    const TimePoint began = runtime_.clock.now();
    const TimePoint end = patience_.attempt_end(began);
    auto attempt = acquirer_.attempt(end, control);
    if (control.stop_requested()) break;
    if (auto* granted = std::get_if<Granted>(&attempt)) {
      tell_reached(control);
      if (releases_grant(control)) return give_way();
      return std::move(*granted);
    }
    const TimePoint now = runtime_.clock.now();
    if (auto* failed = std::get_if<Acquirer::Failed>(&attempt)) {
      patience_.failed(began, now);
      const bool cut_short = failed->error.code == ErrorCode::kUnavailable && now >= end;
      if (!cut_short || !reason_) reason_ = failed->error;
      if (!patience_.outlives(failed->error, failed->answered || failed->error.undone, now))
        return refused(std::move(*reason_));
      if (!std::exchange(traced_outage_, true)) trace("tried again: " + failed->error.message);
      if (patience_.is_worth_telling(now)) tell_unreached(failed->error.message, control);
      pause_in_outage(control);
    } else {
      patience_.reached();
      reason_.reset();
      traced_outage_ = false;
      tell_reached(control);
      if (!patience_.may_try_again(now)) return busy(control);
      if (std::get<Acquirer::Busy>(attempt).foreign && !std::exchange(is_lock_, true)) {
        if (auto error = no_lock(control)) return refused(std::move(*error));
      }
      const bool again = !gives_way(control) && acquirer_.wait(patience_.wait_end(now), control);
      if (gives_way_ && !control.stop_requested()) return give_way();
      if (!again && !control.stop_requested()) return busy(control);
    }
    if (control.stop_requested()) break;
  }
  withdraw();
  return std::nullopt;
}

/// The store could not be asked for the holder: "who" is answered once it can be again.
void Acquisition::pause_in_outage(Control& control) {
  const TimePoint now = runtime_.clock.now();
  const Duration least = patience_.is_long_outage(now) ? kOutagePause : kAskAgainPause;
  rest(runtime_.clock, *earlier(now + least + jitter(least), patience_.until()), &control);
}

bool Acquisition::wait_on(const Source& source, std::optional<TimePoint> until, Control& control) {
  while (true) {
    const bool is_ready = source.is_ready();
    if (control.stop_requested()) return false;
    const bool asked = answer_who(control);
    if (is_ready) return true;
    if (gives_way(control)) return false;
    if (asked) continue;  // an event that came during it would not end the sleep
    if (until && runtime_.clock.now() >= *until) return false;
    source.sleep(earlier(earlier(until, ask_at_), succession_.look_at()));
  }
}

void Acquisition::pause(std::optional<TimePoint> until, Control& control) {
  const auto sleep = [&](std::optional<TimePoint> end) {
    std::vector<pollfd> fds;
    control.add_interest(fds);
    runtime_.clock.wait(fds, end);
  };
  wait_on({[] { return false; }, sleep}, until, control);
}

/// False: no "who" came, and the store was not asked. Nor is it at the end of the wait, which reports the holder, too.
bool Acquisition::answer_who(Control& control) {
  const TimePoint now = runtime_.clock.now();
  if (patience_.is_over(now)) return false;
  const bool again = ask_at_ && now >= *ask_at_;
  if (!control.take_who() && !again) return false;
  auto state = acquirer_.describe(control);
  // The server answers all the same; only silence means an outage.
  if (!state && state.error().code == ErrorCode::kUnavailable) {
    nobody_says_who(state.error(), now, control);
    return true;
  }
  ask_at_.reset();
  tell_reached(control);
  if (!state) state = LockState{.name = spec_.name, .store = {}, .holders = {}, .waiters = {}};
  control.tell(Waiting{std::move(*state)});
  return true;
}

/// Looks at the lock once a second, if that may end the wait or a holder has to be asked to end.
bool Acquisition::gives_way(Control& control) {
  const TimePoint now = runtime_.clock.now();
  const bool is_due = succession_.look_at() && now >= *succession_.look_at() && !patience_.is_over(now);
  if (gives_way_ || !is_due) return gives_way_.has_value();
  const auto state = acquirer_.describe(control);
  if (!state) succession_.missed(now);
  else gives_way_ = succession_.judge(*state, now);
  return gives_way_.has_value();
}

/// On a connection of its own, hence with the time of a first contact.
Result<void> Acquisition::revoke(const LockState& shown, const std::string& by) {
  return ask_->revoke(shown, by, patience_.look_end(runtime_.clock.now(), patience_.connect_timeout()));
}

bool Acquisition::releases_grant(Control& control) {
  if (!succession_.look_at()) return false;
  if (const auto state = acquirer_.describe(control)) gives_way_ = succession_.judge_grant(*state);
  return gives_way_.has_value();
}

void Acquisition::nobody_says_who(const Error& error, TimePoint asked, Control& control) {
  const TimePoint now = runtime_.clock.now();
  if (!silent_since_) silent_since_ = asked;
  ask_at_ = now + kWhoPause;
  if (now >= *silent_since_ + kSilence) tell_unreached(error.message, control);
}

void Acquisition::tell_unreached(const std::string& why, Control& control) {
  if (!std::exchange(told_outage_, true)) control.tell(Unreached{why});
}

void Acquisition::tell_reached(Control& control) {
  silent_since_.reset();
  if (std::exchange(told_outage_, false)) control.tell(Reached{});
}

void Acquisition::trace(std::string step) {
  if (!runtime_.log.style().verbose || step == traced_) return;
  runtime_.log.verbose(spec_.name.spoken() + ": " + step);
  traced_ = std::move(step);
}

/// The record of a slot stays once it was written, however little is known of it.
void Acquisition::withdraw() {
  const bool records = spec_.name.is_slot() && spec_.take;
  if (!records) acquirer_.withdraw();
}

Refused Acquisition::refused(Error error) {
  withdraw();
  return {std::move(error), std::nullopt};
}

std::optional<Error> Acquisition::no_lock(Control& control) {
  const auto state = acquirer_.describe(control);
  const std::string what = state ? foreign_data(*state) : std::string();
  return what.empty() ? std::nullopt : std::optional(holds_data(spec_.name, what));
}

Refused Acquisition::give_way() {
  withdraw();
  return std::move(*gives_way_);
}

Refused Acquisition::busy(Control& control) {
  auto state = acquirer_.describe(control);
  withdraw();
  Refused refused{{ErrorCode::kBusy, spec_.name.spoken() + " is already held"}, std::nullopt};
  if (!state) return refused;
  if (const std::string what = foreign_data(*state); !what.empty()) return {holds_data(spec_.name, what), std::nullopt};
  if (const Error* why = succession_.unasked(*state)) return {*why, std::move(*state)};
  const auto ours = [&](const Participant& waiter) { return waiter.owner == spec_.owner.text(); };
  if (std::erase_if(state->waiters, ours) == 0 && state->place > 0) --state->more_waiters;
  refused.state = std::move(*state);
  return refused;
}

}  // namespace dlock
