// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/once_session.h"

#include <utility>

#include "lib/base/human_text.h"
#include "lib/base/text.h"
#include "lib/lock/lock_session.h"

namespace dlock {
namespace {

/// For giving back a lock under which nothing was run.
constexpr Duration kGiveBackTime = std::chrono::seconds(5);

/// "ran on ci-4 2 h ago, status 0".
std::string ran_text(const LockState& state, WallTime now) {
  const Participant& who = state.holders.front();
  std::string text = "ran";
  if (!who.host.empty()) text += " on " + printable(who.host);
  if (who.since) text += " " + human_duration(std::max<Duration>(now - *who.since, Duration(0))) + " ago";
  return text + (who.ran.empty() ? "" : ", " + printable(who.ran));
}

/// The answer of a place where something else lies, or where what lies there cannot be read: none that the slot has
/// run.
Error not_remembered_there(const LockName& slot, const std::optional<LockState>& state) {
  const std::string what = state ? foreign_data(*state) : std::string();
  if (!what.empty()) {
    return {ErrorCode::kMisconfigured, slot.spoken() + " cannot be remembered: in its place is " + what,
            "see who writes there"};
  }
  return {ErrorCode::kDenied, "whether " + slot.spoken() + " has run cannot be read",
          "look with: dlock inspect " + shell_word(slot.key())};
}

bool tells_who_ran(const std::optional<LockState>& state) {
  return state && !state->holders.empty() && foreign_data(*state).empty();
}

}  // namespace

void add_remembered(LockState& state, LockAdmin& admin) {
  if (state.name.is_path() || state.name.is_relative_path()) return;
  if (auto slots = admin.remembered(state.name)) state.remembered = std::move(*slots);
}

OnceSession::OnceSession(std::unique_ptr<LockSession> lock, OncePolicy policy, OpenSlot open_slot, Clock& clock,
                         const Log& log)
    : lock_(std::move(lock)), policy_(std::move(policy)), open_slot_(std::move(open_slot)), clock_(clock), log_(log) {}

std::optional<Refused> OnceSession::look() {
  auto slot = open_slot_(Wants::kLook, {});
  if (!slot) return Refused{slot.error(), std::nullopt};
  auto answer = acquire_and_wait(**slot, clock_);
  auto* refused = std::get_if<Refused>(&answer);
  if (refused == nullptr) return std::nullopt;
  if (refused->error.code != ErrorCode::kBusy) return std::move(*refused);
  if (!tells_who_ran(refused->state)) return Refused{not_remembered_there(policy_.slot, refused->state), std::nullopt};
  return Refused{{ErrorCode::kRepeated, policy_.slot.spoken() + " " + ran_text(*refused->state, clock_.wall()), ""},
                 std::nullopt};
}

void OnceSession::acquire(TimePoint now) {
  refused_ = look();
  if (!refused_) lock_->acquire(now);
}

std::optional<SessionEvent> OnceSession::next_event(TimePoint now) {
  if (refused_ && !giving_back_) return *std::exchange(refused_, std::nullopt);
  auto event = lock_->next_event(now);
  if (!event) return event;
  if (giving_back_) {
    if (is_of_wait(*event) || std::holds_alternative<Renewed>(*event) || std::holds_alternative<Unrenewed>(*event))
      return std::nullopt;
    giving_back_ = false;  // given back, or as good as that: the lease ends by itself
    return *std::exchange(refused_, std::nullopt);
  }
  if (const auto* renewed = std::get_if<Renewed>(&*event)) deadline_ = renewed->deadline;
  const auto* granted = std::get_if<Granted>(&*event);
  if (granted == nullptr) return event;
  deadline_ = granted->deadline;
  refused_ = look();
  if (!refused_) return event;
  giving_back_ = true;
  lock_->release(clock_.now() + kGiveBackTime);
  return std::nullopt;
}

void OnceSession::command_ended(int wait_status) {
  lock_->command_ended(wait_status);
  if (wait_status == 0) remember(wait_status);
}

/// Under the lock, which is still ours.
void OnceSession::remember(int wait_status) {
  auto slot = open_slot_(Wants::kTake, deadline_);
  if (!slot) return warn_unconfirmed(slot.error());
  auto answer = acquire_and_wait(**slot, clock_);
  if (const auto* refused = std::get_if<Refused>(&answer)) {
    const bool by_another = refused->error.code == ErrorCode::kBusy && tells_who_ran(refused->state);
    if (!by_another) warn_unconfirmed(refused->error);  // else a run inside this one has done it
    return;
  }
  (*slot)->command_ended(wait_status);
  if (const auto left = (*slot)->detach({policy_.remember, std::nullopt}); !left) warn_unconfirmed(left.error());
}

/// A record that was written stays, and counts.
void OnceSession::warn_unconfirmed(const Error& why) {
  const auto found = look();
  const std::string known = !found                                      ? "is not remembered, and may run again"
                            : found->error.code == ErrorCode::kRepeated ? "is remembered, not confirmed"
                                                                        : "may not be remembered, and may run again";
  log_.warn(policy_.slot.spoken() + " " + known + ": " + why.message);
}

}  // namespace dlock
