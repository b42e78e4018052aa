// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/multi_lock.h"

#include <algorithm>
#include <cassert>

namespace dlock {

using namespace std::chrono_literals;

namespace {
constexpr Duration kUnwindBudget = 1s;  ///< after it the keepers finish the releases by themselves

/// `name`: of a lock that was held already while another one was waited for; nullopt: of one that was not.
Refused lost_before_all(const std::optional<LockName>& name, const std::string& why) {
  if (!name) return {{ErrorCode::kLost, why}, std::nullopt};
  return {{ErrorCode::kLost, "LOST " + name->text() + " while another key was waited for: " + why, "nothing was run"},
          std::nullopt};
}

}  // namespace

MultiLock::MultiLock(std::vector<std::unique_ptr<LockSession>> sessions) {
  assert(!sessions.empty());
  for (auto& session : sessions) parts_.push_back({std::move(session), State::kIdle, std::nullopt});
}

void MultiLock::acquire(TimePoint now) {
  parts_.front().state = State::kWaiting;
  parts_.front().session->acquire(now);
}

/// Every part is given up; `verdict` is what is said once that is done.
void MultiLock::unwind(SessionEvent verdict, TimePoint deadline) {
  verdict_ = std::move(verdict);
  for (Part& part : parts_) {
    if (part.state == State::kHeld) part.session->release(deadline);
    else if (part.state == State::kWaiting) part.session->withdraw(deadline);
    else continue;
    part.state = State::kGivingBack;
  }
}

void MultiLock::withdraw(TimePoint deadline) { unwind(Withdrawn{}, deadline); }

void MultiLock::release(TimePoint deadline) { unwind(Released{}, deadline); }

void MultiLock::ask_who() {
  for (Part& part : parts_) {
    if (part.state == State::kWaiting) part.session->ask_who();
  }
}

void MultiLock::add_interest(std::vector<pollfd>& fds) const {
  for (const Part& part : parts_) {
    if (is_live(part)) part.session->add_interest(fds);
  }
}

std::optional<TimePoint> MultiLock::wake_at() const {
  std::optional<TimePoint> first;
  for (const Part& part : parts_) {
    if (is_live(part)) first = earlier(first, part.session->wake_at());
  }
  return first;
}

std::optional<SessionEvent> MultiLock::next_event(TimePoint now) {
  for (Part& part : parts_) {
    while (is_live(part)) {
      auto event = part.session->next_event(now);
      if (!event) break;
      if (auto out = on_event(part, std::move(*event), now)) return out;
    }
  }
  return finished();
}

std::optional<SessionEvent> MultiLock::finished() {
  if (!verdict_ || !over()) return std::nullopt;
  SessionEvent verdict = std::move(*verdict_);
  verdict_.reset();
  if (!std::holds_alternative<Released>(verdict)) return verdict;
  if (lost_) return *lost_;
  if (unconfirmed_) return ReleaseUnconfirmed{*unconfirmed_};
  return verdict;
}

std::optional<SessionEvent> MultiLock::on_event(Part& part, SessionEvent event, TimePoint now) {
  if (const auto* granted = std::get_if<Granted>(&event)) return on_granted(part, *granted, now);
  if (const auto* renewed = std::get_if<Renewed>(&event)) {
    const auto before = earliest_deadline();
    part.deadline = renewed->deadline;
    const auto after = earliest_deadline();
    if (all_held_ && after && before && *after > *before) return Renewed{*after};
    return std::nullopt;
  }
  if (is_of_wait(event) || std::holds_alternative<Unrenewed>(event)) return event;
  if (const auto* asked = std::get_if<Lost>(&event); asked && !asked->final) return on_asked(part, *asked, now);

  part.state = State::kOver;
  return end_of_part(part, std::move(event), now);
}

/// The part is still held.
std::optional<SessionEvent> MultiLock::on_asked(const Part& part, const Lost& asked, TimePoint now) {
  if (verdict_) return std::nullopt;
  if (all_held_) return asked;
  unwind(lost_before_all(part.name, asked.by.empty() ? asked.why : revoked_by(asked.by)), now + kUnwindBudget);
  return std::nullopt;
}

std::optional<SessionEvent> MultiLock::end_of_part(const Part& part, SessionEvent event, TimePoint now) {
  auto* lost = std::get_if<Lost>(&event);
  auto* gone = std::get_if<SessionGone>(&event);
  if (const auto* failed = std::get_if<ReleaseUnconfirmed>(&event)) unconfirmed_ = failed->error;
  if (gone) unconfirmed_ = Error{gone->code, gone->why};
  if (verdict_) {
    if (lost && !lost_) lost_ = std::move(*lost);
    return std::nullopt;
  }
  if (all_held_) {
    if (lost) lost->final = over();
    if (gone) gone->final = over();
    return event;
  }
  if (lost) event = lost_before_all(part.name, lost->why);
  else if (gone) event = Refused{{gone->code, gone->why, "nothing was run"}, std::nullopt};
  unwind(std::move(event), now + kUnwindBudget);
  return std::nullopt;
}

bool MultiLock::over() const {
  return std::none_of(parts_.begin(), parts_.end(), [&](const Part& part) { return is_live(part); });
}

std::optional<SessionEvent> MultiLock::on_granted(Part& part, const Granted& granted, TimePoint now) {
  part.state = State::kHeld;
  part.deadline = granted.deadline;
  if (!granted.locks.empty()) part.name = granted.locks.front().name;
  if (granted.lease > Duration(0)) lease_ = lease_ > Duration(0) ? std::min(lease_, granted.lease) : granted.lease;
  locks_.insert(locks_.end(), granted.locks.begin(), granted.locks.end());
  const auto next = std::find_if(parts_.begin(), parts_.end(), [](const Part& p) { return p.state == State::kIdle; });
  if (next != parts_.end()) {
    next->state = State::kWaiting;
    next->session->acquire(now);
    return std::nullopt;
  }
  all_held_ = true;
  return Granted{std::move(locks_), earliest_deadline(), lease_};
}

std::optional<TimePoint> MultiLock::earliest_deadline() const {
  std::optional<TimePoint> first;
  for (const Part& part : parts_) first = earlier(first, part.deadline);
  return first;
}

void MultiLock::add_inherited(std::vector<int>& fds) const {
  for (const Part& part : parts_) part.session->add_inherited(fds);
}

void MultiLock::add_keepers(std::vector<pid_t>& pids) const {
  for (const Part& part : parts_) part.session->add_keepers(pids);
}

void MultiLock::command_started(const GuardHandles& guard) {
  for (Part& part : parts_) part.session->command_started(guard);
}

void MultiLock::command_over() {
  for (Part& part : parts_) part.session->command_over();
}

void MultiLock::command_ended(int wait_status) {
  for (Part& part : parts_) part.session->command_ended(wait_status);
}

Result<void> MultiLock::detach(const DetachSpec& spec) {
  Result<void> result;
  for (Part& part : parts_) {
    auto detached = part.session->detach(spec);
    const bool is_held = !detached && detached.error().code == ErrorCode::kUnsupported;
    if (!detached) result = std::move(detached);
    if (!is_held) part.state = State::kOver;
  }
  return result;
}

}  // namespace dlock
