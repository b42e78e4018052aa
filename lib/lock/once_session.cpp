// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/once_session.h"

#include <utility>

#include "lib/base/human_text.h"
#include "lib/lock/lock_session.h"

namespace dlock {
namespace {

/// For giving back a lock under which nothing was run.
constexpr Duration kGiveBackTime = std::chrono::seconds(5);

/// "ran on ci-4 2 h ago, status 0".
std::string ran_text(const std::optional<LockState>& state, WallTime now) {
  if (!state || state->holders.empty()) return "has run";
  const Participant& who = state->holders.front();
  std::string text = "ran";
  if (!who.host.empty()) text += " on " + printable(who.host);
  if (who.since) text += " " + human_duration(std::max<Duration>(now - *who.since, Duration(0))) + " ago";
  return text + (who.ran.empty() ? "" : ", " + printable(who.ran));
}

std::string slots_of(const LockName& key) { return key.text() + std::string(kOnceMark); }

/// Whether the answer to an attempt, or a look, is that of a slot that has run; as far as the store knows.
bool has_run(const Refused& refused) {
  if (refused.error.code != ErrorCode::kBusy) return false;
  return !refused.state || refused.state->holders.empty() || is_slot(*refused.state);
}

}  // namespace

Result<LockName> slot_name(const LockName& key, std::string_view slot) {
  if (slot.empty()) return Error{ErrorCode::kInvalid, "a slot needs a name", "such as --once \"$(date +%F)\""};
  if ((":" + std::string(slot)).find(kOnceMark) != std::string::npos) {
    return Error{ErrorCode::kInvalid, "slot '" + printable(slot, 80) + "' would also belong to another key",
                 "choose one without 'once:'"};
  }
  auto name = LockName::parse(slots_of(key) + std::string(slot));
  if (name) return name;
  return Error{ErrorCode::kInvalid, "slot '" + printable(slot, 80) + "' of " + key.text() + ": " + name.error().message,
               "choose a shorter one, without control characters"};
}

std::string slot_text(const LockName& slot) {
  const std::size_t end = slot.text().find(kOnceMark);
  if (end == std::string::npos) return slot.text();
  return "slot " + slot.text().substr(end + kOnceMark.size()) + " of " + slot.text().substr(0, end);
}

bool is_slot(const LockState& state) {
  if (state.holders.empty()) return false;
  const Participant& who = state.holders.front();
  return (!who.ran.empty() || who.at_least > Duration(0)) && state.name.text().find(kOnceMark) != std::string::npos;
}

void add_remembered(LockState& state, LockAdmin& admin) {
  if (state.name.is_path() || state.name.is_relative_path()) return;
  const std::string prefix = slots_of(state.name);
  const auto live = admin.inspect_below(prefix);
  if (!live) return;
  for (const LockState& slot : live->locks) {
    if (slot.holders.empty()) continue;
    state.remembered.push_back(slot.holders.front());
    state.remembered.back().slot = slot.name.text().substr(prefix.size());
  }
}

OnceSession::OnceSession(std::unique_ptr<LockSession> lock, OncePolicy policy, OpenSlot open_slot, Clock& clock,
                         const Log& log)
    : lock_(std::move(lock)), policy_(std::move(policy)), open_slot_(std::move(open_slot)), clock_(clock), log_(log) {}

std::optional<Refused> OnceSession::look() {
  auto slot = open_slot_(Wants::kLook);
  if (!slot) return Refused{slot.error(), std::nullopt};
  auto answer = acquire_and_wait(**slot, clock_);
  auto* refused = std::get_if<Refused>(&answer);
  if (refused == nullptr) return std::nullopt;
  if (refused->error.code != ErrorCode::kBusy) return std::move(*refused);
  if (!has_run(*refused)) return std::nullopt;
  return Refused{{ErrorCode::kRepeated, slot_text(policy_.slot) + " " + ran_text(refused->state, clock_.wall()), ""},
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
  if (!std::holds_alternative<Granted>(*event)) return event;
  refused_ = look();
  if (!refused_) return event;
  giving_back_ = true;
  lock_->release(clock_.now() + kGiveBackTime);
  return std::nullopt;
}

void OnceSession::command_ended(int wait_status) {
  status_ = wait_status;
  lock_->command_ended(wait_status);
}

/// Under the lock, which is still ours.
void OnceSession::remember() {
  const auto status = std::exchange(status_, std::nullopt);
  if (!status || *status != 0) return;
  const auto warn = [&](const Error& why) {
    log_.warn(slot_text(policy_.slot) + " is not remembered, and may run again: " + why.message);
  };
  auto slot = open_slot_(Wants::kTake);
  if (!slot) return warn(slot.error());
  auto answer = acquire_and_wait(**slot, clock_);
  const auto* refused = std::get_if<Refused>(&answer);
  if (refused && has_run(*refused)) return;  // a run inside this one has done it
  if (refused) return warn(refused->error);
  (*slot)->command_ended(*status);
  if (const auto left = (*slot)->detach({policy_.remember, std::nullopt}); !left) warn(left.error());
}

void OnceSession::release(TimePoint deadline) {
  remember();
  lock_->release(deadline);
}

Result<void> OnceSession::detach(const DetachSpec& spec) {
  remember();
  return lock_->detach(spec);
}

}  // namespace dlock
