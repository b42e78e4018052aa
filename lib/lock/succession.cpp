// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/succession.h"

#include <algorithm>
#include <utility>

#include "lib/base/human_text.h"
#include "lib/lock/patience.h"
#include "lib/lock/who_text.h"

namespace dlock {
namespace {

constexpr Duration kLookPause = std::chrono::seconds(1);

}  // namespace

std::optional<TimePoint> Succession::look_at() const {
  if (spec_.supersedes == Supersedes::kNothing) return std::nullopt;
  return looked_at_ ? *looked_at_ + kLookPause : TimePoint();
}

/// The last one of those that came after us: of who has the lock already (`is_in`), every one.
const Participant* Succession::successor(const LockState& state, bool is_in) const {
  const Participant* last = nullptr;
  for (const Participant& waiter : state.waiters) {
    if (waiter.owner == spec_.owner.text()) is_in = true;
    else if (is_in && waiter.supersedes == spec_.supersedes && !earlier_.contains(waiter.owner)) last = &waiter;
  }
  return last;
}

/// At the first look, for which we may have no place yet.
void Succession::note_earlier(const LockState& state) {
  for (const Participant& waiter : state.waiters) {
    if (waiter.owner == spec_.owner.text()) break;
    earlier_.insert(waiter.owner);
  }
}

Refused Succession::superseded(const Participant& by, LockState state) const {
  state.superseded_by = participant_text(by) + (by.reason.empty() ? "" : ": " + printable(by.reason, 300));
  return {{ErrorCode::kBusy, spec_.name.text() + " is superseded by " + state.superseded_by}, std::move(state)};
}

std::optional<Refused> Succession::refusal(const LockState& state, bool is_in) const {
  if (!state.waiters_known) {
    return Refused{{ErrorCode::kUnsupported,
                    state.store + " keeps no queue, so --replace and --newest cannot know which run is the latest",
                    "leave the option out, or use another backend (man 7 dlock compares them)"},
                   std::nullopt};
  }
  if (const Participant* later = successor(state, is_in)) return superseded(*later, state);
  return std::nullopt;
}

std::optional<Refused> Succession::judge(const LockState& state, TimePoint now) {
  if (!looked_at_) note_earlier(state);
  looked_at_ = now;
  if (auto refused = refusal(state, false)) return refused;
  const bool behind = !state.waiters.empty() && state.waiters.front().owner != spec_.owner.text();
  if (spec_.behind_nobody && behind) {
    return Refused{{ErrorCode::kBusy, "others already wait for " + spec_.name.text()}, state};
  }
  return spec_.supersedes == Supersedes::kReplace ? ask_holders(state, now) : std::nullopt;
}

std::optional<Refused> Succession::ask_holders(const LockState& state, TimePoint now) {
  LockState rest = state;
  std::erase_if(rest.holders, [&](const Participant& holder) {
    const auto asked = asked_.find(holder.owner);
    return !is_hold(holder.standing) || (asked != asked_.end() && asked->second == holder.token);
  });
  const auto told = rest.holders.empty() ? Result<void>() : revoke_(rest, who_replaces(spec_.reason));
  if (!told && told.error().code != ErrorCode::kConflict) return not_asked(told.error(), rest, now);
  unasked_.reset();
  for (const Participant& holder : rest.holders) {
    if (told) asked_[holder.owner] = holder.token;
  }
  return std::nullopt;
}

std::optional<Refused> Succession::not_asked(const Error& why, const LockState& state, TimePoint now) {
  const std::string& owner = state.holders.front().owner;
  const bool later = why.code == ErrorCode::kUnavailable;
  const bool again = unasked_ && unasked_->why.code == why.code && (later || unasked_->owner == owner);
  unasked_ = {why, owner, again ? unasked_->since : now};
  const bool goes_on =
      later ? now < unasked_->since + connect_timeout_of(spec_.wait) : why.code == ErrorCode::kUnsupported && !again;
  return goes_on ? std::nullopt : std::optional(Refused{why, state});
}

const Error* Succession::unasked(const LockState& state) const {
  const auto is_unasked = [&](const Participant& holder) { return holder.owner == unasked_->owner; };
  return unasked_ && std::any_of(state.holders.begin(), state.holders.end(), is_unasked) ? &unasked_->why : nullptr;
}

}  // namespace dlock
