// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/polled_lock.h"

#include <algorithm>
#include <utility>

#include "lib/base/random.h"
#include "lib/keeper/insist.h"
#include "lib/lock/lease.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr Duration kShortestPollPause = 20ms;
constexpr Duration kLongestPollPause = 250ms;
constexpr Duration kWithdrawBudget = 1s;

}  // namespace

Duration polling_pause(int tries, std::optional<Duration> remaining, std::uint32_t chance) {
  const int doublings = std::clamp(tries - 1, 0, 6);
  const Duration whole = std::min(kLongestPollPause, kShortestPollPause * (1 << doublings));
  const Duration pause = whole / 2 + whole / 2 / 1024 * (chance % 1024);
  if (!remaining) return pause;
  return std::min(pause, std::max(*remaining, Duration(0)) + 2ms + 1ms * (chance % 8));
}

PolledLock::PolledLock(std::unique_ptr<PollableLock> store, const LockSpec& spec, std::string store_name,
                       const Runtime& runtime)
    : store_(std::move(store)),
      spec_(spec),
      store_name_(std::move(store_name)),
      runtime_(runtime),
      acquisition_(spec_, runtime_, *this),
      seen_{spec.name, store_name_, Mode::kExclusive, 0, {}, {}} {}

std::optional<std::variant<Granted, Refused>> PolledLock::acquire(Control& control) {
  since_ = runtime_.clock.wall();
  return acquisition_.run(control);
}

/// One question to the store: for the lock, or only whose it is.
PollableLock::Attempt PolledLock::ask(TimePoint until, Control& control) {
  if (!spec_.take) {
    TRY_ASSIGN(auto state, store_->read_state(until, &control));
    return PollableLock::Others{std::move(state), std::nullopt};
  }
  return store_->take(control);
}

Acquirer::Attempt PolledLock::attempt(TimePoint until, Control& control) {
  PollableLock::Attempt result = ask(until, control);
  unknown_ = !std::holds_alternative<PollableLock::Others>(result);
  if (const auto* taken = std::get_if<PollableLock::Taken>(&result)) return granted(*taken);
  if (auto* error = std::get_if<Error>(&result)) return std::move(*error);
  auto& others = std::get<PollableLock::Others>(result);
  if (!spec_.take && others.state.holders.empty()) return Granted{};
  seen_ = std::move(others.state);
  remaining_ = others.remaining;
  ++tries_;
  acquisition_.trace("already held on " + store_name_ + ", asked again and again");
  return Busy{!foreign_data(seen_).empty()};
}

Acquirer::Attempt PolledLock::granted(const PollableLock::Taken& taken) {
  const TimePoint deadline = lease_deadline(taken.sent, spec_.ttl);
  if (deadline > runtime_.clock.now()) {
    granted_at_ = taken.sent;
    HeldLock lock{spec_.name, spec_.owner, taken.token, store_name_};
    lock.bound = taken.bound;
    return Granted{{std::move(lock)}, deadline};
  }
  withdraw();
  return Error{ErrorCode::kUnavailable, store_name_ + " answered only after the lease had ended",
               "choose a longer --ttl, or find out why the servers are slow"};
}

bool PolledLock::wait(std::optional<TimePoint> until, Control& control) {
  const auto chance = static_cast<std::uint32_t>(random_below(1024));
  const TimePoint next = runtime_.clock.now() + polling_pause(tries_, remaining_, chance);
  acquisition_.pause(acquisition_.patience().queues() ? earlier(next, until) : until, control);
  return true;
}

/// As it was seen last, with us among those that wait.
Result<LockState> PolledLock::describe(Control& /*control*/) {
  LockState state = seen_;
  Participant we;
  we.owner = spec_.owner.text();
  we.reason = spec_.reason;
  we.since = since_;
  state.waiters.push_back(std::move(we));
  return state;
}

void PolledLock::withdraw() {
  if (spec_.take && unknown_)
    (void)store_->withdraw(acquisition_.patience().withdraw_end(runtime_.clock.now(), kWithdrawBudget));
}

Renewal PolledLock::held(TimePoint now) {
  auto why = store_->disturbed(now);
  return why ? Renewal(RenewalDue{std::move(*why)}) : RenewalHeld{};
}

Renewal PolledLock::renew(Control& control, TimePoint until) {
  if (!spec_.take) return RenewalHeld{};
  return store_->renew(&control, until);
}

Result<void> PolledLock::release(TimePoint until) {
  if (!spec_.take) return {};
  return insist(runtime_.clock, until, kShortestPollPause, [&] { return store_->release(until); }).answer;
}

/// A lease that has just begun need not begin again: nothing can go wrong with it any more.
Result<void> PolledLock::leave(const LeaveSpec& spec, TimePoint until) {
  const bool stays = spec.ran.empty() && spec.ttl == spec_.ttl;
  if (!spec_.take || (stays && has_just_begun(granted_at_, runtime_.clock.now(), spec.ttl))) return {};
  return insist(runtime_.clock, until, kShortestPollPause, [&] { return store_->leave(spec, until); }).answer;
}

}  // namespace dlock
