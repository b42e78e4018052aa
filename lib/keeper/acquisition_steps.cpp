// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/acquisition_steps.h"

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

AcquisitionSteps::Answer AcquisitionSteps::granted(Granted granted) {
  tell_reached();
  if (!succession_.look_at()) return granted;
  if (const auto state = driver_.describe()) gives_way_ = succession_.judge_grant(*state);
  if (gives_way_) return give_way();
  return granted;
}

std::optional<Refused> AcquisitionSteps::busy(bool foreign) {
  patience_.reached();
  reason_.reset();
  traced_outage_ = false;
  tell_reached();
  if (!patience_.may_try_again(now())) return over();
  if (foreign && !std::exchange(is_lock_, true)) {
    if (auto error = no_lock()) return refused(std::move(*error));
  }
  return gives_way() ? std::optional(give_way()) : std::nullopt;
}

std::optional<Refused> AcquisitionSteps::failed(const Error& error, TimePoint began, TimePoint end) {
  const TimePoint ended = now();
  patience_.failed(error, began, ended);
  const bool cut_short = error.code == ErrorCode::kUnavailable && ended >= end;
  if (!cut_short || !reason_) reason_ = error;
  if (!patience_.outlives(error, ended)) return refused(std::move(*reason_));
  if (!std::exchange(traced_outage_, true)) trace("tried again: " + error.message);
  if (patience_.is_worth_telling(ended)) tell_unreached(error.message);
  return std::nullopt;
}

TimePoint AcquisitionSteps::attempt_at() const {
  const Duration least = patience_.is_long_outage(now()) ? kOutagePause : kAskAgainPause;
  return *earlier(now() + least + jitter(least), patience_.until());
}

bool AcquisitionSteps::answer_who(bool asked) {
  const TimePoint began = now();
  const bool again = ask_at_ && began >= *ask_at_;
  if (patience_.is_over(began) || (!asked && !again)) return false;
  auto state = driver_.describe();
  // The server answers all the same; only silence means an outage.
  if (!state && state.error().code == ErrorCode::kUnavailable) {
    nobody_says_who(state.error(), began);
    return true;
  }
  ask_at_.reset();
  tell_reached();
  if (!state) state = LockState{.name = spec_.name, .store = {}, .holders = {}, .waiters = {}};
  driver_.tell(Waiting{std::move(*state)});
  return true;
}

bool AcquisitionSteps::gives_way() {
  const TimePoint began = now();
  const auto look_at = succession_.look_at();
  const bool is_due = look_at && began >= *look_at && !patience_.is_over(began);
  if (gives_way_ || !is_due) return is_given_up();
  const auto state = driver_.describe();
  if (!state) succession_.missed(began);
  else gives_way_ = succession_.judge(*state, began);
  return is_given_up();
}

void AcquisitionSteps::nobody_says_who(const Error& error, TimePoint asked) {
  if (!silent_since_) silent_since_ = asked;
  ask_at_ = now() + kWhoPause;
  if (now() >= *silent_since_ + kSilence) tell_unreached(error.message);
}

void AcquisitionSteps::tell_unreached(const std::string& why) {
  if (!std::exchange(told_outage_, true)) driver_.tell(Unreached{why});
}

void AcquisitionSteps::tell_reached() {
  silent_since_.reset();
  if (std::exchange(told_outage_, false)) driver_.tell(Reached{});
}

void AcquisitionSteps::trace(std::string step) {
  if (!runtime_.log.style().verbose || step == traced_) return;
  runtime_.log.verbose(spec_.name.spoken() + ": " + step);
  traced_ = std::move(step);
}

/// The record of a slot stays once it was written, however little is known of it.
void AcquisitionSteps::withdraw() {
  const bool records = spec_.name.is_slot() && spec_.take;
  if (!records) driver_.withdraw();
}

Refused AcquisitionSteps::refused(Error error) {
  withdraw();
  return {std::move(error), std::nullopt};
}

std::optional<Error> AcquisitionSteps::no_lock() {
  const auto state = driver_.describe();
  const std::string what = state ? foreign_data(*state) : std::string();
  return what.empty() ? std::nullopt : std::optional(holds_data(spec_.name, what));
}

Refused AcquisitionSteps::give_way() {
  withdraw();
  return std::move(*gives_way_);
}

Refused AcquisitionSteps::over() {
  auto state = driver_.describe();
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
