// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/polled_lock.h"

#include <algorithm>

#include "lib/base/random.h"
#include "lib/lock/lease.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLookBudget = 5s;  ///< for a look when nobody chose a time to connect
constexpr Duration kShortestPollPause = 20ms;
constexpr Duration kLongestPollPause = 250ms;
constexpr int kOutageTries = 7;  ///< who outlives an outage asks as seldom as after so many refusals
constexpr Duration kGiveBackBudget = 1s;

/// Asking again may help only against silence.
bool is_passing(const Error& error) { return error.code == ErrorCode::kUnavailable; }

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
      seen_{spec.name, store_name_, Mode::kExclusive, 0, {}, {}} {}

Granted PolledLock::granted(const PollableLock::Taken& taken, const Owner& owner, bool reentered) const {
  return {{HeldLock{spec_.name, owner, taken.token, store_name_, reentered}}, lease_deadline(taken.sent, spec_.ttl)};
}

/// One question to the store: for the ancestor's hold, for the lock, or only whose it is.
PollableLock::Attempt PolledLock::ask(Control& control) {
  if (!spec_.take) {
    const Duration budget = spec_.wait.connect_timeout > Duration(0) ? spec_.wait.connect_timeout : kLookBudget;
    auto state = store_->look(runtime_.clock.now() + budget, &control);
    if (!state) return state.error();
    return PollableLock::Others{std::move(*state), std::nullopt};
  }
  if (claim_) {
    auto joined = store_->join(*claim_, control);
    if (!std::holds_alternative<PollableLock::Others>(joined)) return joined;
    claim_.reset();
  }
  return store_->take(control);
}

/// Granted, or what there is to know in `waiter`.
std::optional<Granted> PolledLock::attempt(Control& control, Waiter& waiter) {
  PollableLock::Attempt result = ask(control);
  const bool had_error = waiter.error.has_value();
  waiter.error.reset();
  if (const auto* taken = std::get_if<PollableLock::Taken>(&result)) {
    if (lease_deadline(taken->sent, spec_.ttl) > runtime_.clock.now()) {
      return granted(*taken, claim_ ? claim_->owner : spec_.owner, claim_.has_value());
    }
    waiter.error = Error{ErrorCode::kUnavailable, store_name_ + " answered only when the lease was over already",
                         "choose a longer --ttl, or find out why the servers are slow"};
    give_back();
  } else if (auto* others = std::get_if<PollableLock::Others>(&result)) {
    if (!spec_.take && others->state.holders.empty()) return Granted{};
    if (!waiter.by && runtime_.log.style().verbosity > 0) {
      runtime_.log.verbose(spec_.name.text() + ": held by somebody else on " + store_name_ + ", asked again and again");
    }
    waiter.by = std::move(*others);
    waiter.reach_by = runtime_.clock.now() + spec_.wait.connect_timeout;
    ++waiter.tries;
    seen_ = waiter.by->state;
  } else {
    if (!had_error && runtime_.log.style().verbosity > 0) {
      runtime_.log.verbose(spec_.name.text() + ": tried again: " + std::get<Error>(result).message);
    }
    waiter.error = std::get<Error>(result);
  }
  return std::nullopt;
}

bool PolledLock::is_over(const Waiter& waiter) const {
  const WaitPolicy& wait = spec_.wait;
  const TimePoint now = runtime_.clock.now();
  if (wait.once || (wait.until && now >= *wait.until)) return true;
  if (waiter.error) {
    const bool outlives =
        waiter.tries > 0 && wait.outlives_outages();  // the connection's time-out is for the first contact
    return !is_passing(*waiter.error) || (!outlives && now >= waiter.reach_by);
  }
  return wait.tries > 0 && waiter.tries >= wait.tries;
}

TimePoint PolledLock::next_try(const Waiter& waiter) const {
  const std::optional<Duration> remaining = waiter.error || !waiter.by ? std::nullopt : waiter.by->remaining;
  const bool is_outage = waiter.error && runtime_.clock.now() >= waiter.reach_by;
  Duration pause =
      polling_pause(is_outage ? kOutageTries : waiter.tries, remaining, static_cast<std::uint32_t>(random_below(1024)));
  if (spec_.wait.tries > 0 && spec_.wait.retry_interval > Duration(0) && !waiter.error) {
    pause = spec_.wait.retry_interval;
  }
  const TimePoint next = runtime_.clock.now() + pause;
  return spec_.wait.until ? std::min(next, *spec_.wait.until) : next;
}

void PolledLock::answer_who(Control& control) {
  if (!control.take_who()) return;
  LockState state = seen_;
  Participant we;
  we.owner = spec_.owner.text();
  we.reason = spec_.reason;
  we.since = since_;
  state.waiters.push_back(std::move(we));
  control.tell(Waiting{std::move(state)});
}

void PolledLock::pause(Control& control, TimePoint until) {
  while (!control.stop_requested() && runtime_.clock.now() < until) {
    answer_who(control);
    std::vector<pollfd> fds;
    control.add_interest(fds);
    runtime_.clock.wait(fds, until);
  }
}

void PolledLock::give_back() {
  if (spec_.take) (void)store_->give_back(runtime_.clock.now() + kGiveBackBudget);
}

Refused PolledLock::refused(const Waiter& waiter) {
  if (waiter.error) {
    give_back();
    return {*waiter.error, std::nullopt};
  }
  return {Error{ErrorCode::kBusy, spec_.name.text() + " is held by somebody else", ""}, seen_};
}

std::optional<std::variant<Granted, Refused>> PolledLock::acquire(Control& control) {
  since_ = runtime_.clock.wall();
  claim_ = spec_.ancestor;
  Waiter waiter;
  waiter.reach_by = runtime_.clock.now() + spec_.wait.connect_timeout;
  for (;;) {
    if (auto taken = attempt(control, waiter)) return Answer(std::move(*taken));
    answer_who(control);
    if (control.stop_requested()) {
      give_back();
      return std::nullopt;
    }
    if (is_over(waiter)) return Answer(refused(waiter));
    pause(control, next_try(waiter));
    if (control.stop_requested()) {
      if (waiter.error) give_back();
      return std::nullopt;
    }
  }
}

Renewal PolledLock::renew(Control& control, TimePoint until) {
  if (!spec_.take) return RenewalHeld{};
  return store_->renew(&control, until);
}

/// Asks until the outcome is known.
Result<void> PolledLock::insist(const std::function<Result<void>()>& call, TimePoint until) {
  if (!spec_.take) return {};
  for (;;) {
    auto answer = call();
    if (answer || !is_passing(answer.error()) || runtime_.clock.now() >= until) return answer;
    std::vector<pollfd> none;
    runtime_.clock.wait(none, std::min(until, runtime_.clock.now() + kShortestPollPause));
  }
}

Result<void> PolledLock::release(TimePoint until) {
  return insist([&] { return store_->release(until); }, until);
}

Result<void> PolledLock::leave(Duration ttl, TimePoint until) {
  return insist([&] { return store_->leave(ttl, until); }, until);
}

}  // namespace dlock
