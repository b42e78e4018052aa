// SPDX-License-Identifier: Apache-2.0
#include "backends/toy/lock.h"

#include "lib/lock/lease.h"

namespace dlock::toy {
namespace {

std::int64_t end_us(WallTime now, Duration ttl) {
  return us_of(now) + std::chrono::duration_cast<std::chrono::microseconds>(ttl).count();
}

}  // namespace

PollableLock::Attempt ToyLock::take(Control& control) {
  const TimePoint sent = runtime_.clock.now();
  const WallTime now = runtime_.clock.wall();
  FencingToken token;
  const auto taken = store_.change(spec_.name, [&](Entry& entry) {
    if (entry.is_held(now)) return false;
    entry = {spec_.owner.text(), entry.token + 1, end_us(now, spec_.ttl)};
    token = FencingToken(entry.token);
    return true;
  });
  if (!taken) return taken.error();
  if (*taken) return Taken{token, sent};
  auto state = read_state(sent, &control);
  if (!state) return state.error();
  return Others{std::move(*state), {}};
}

Result<bool> ToyLock::extend(Duration ttl) {
  const WallTime now = runtime_.clock.wall();
  return store_.change(spec_.name, [&](Entry& entry) {
    if (!entry.is_held(now) || entry.owner != spec_.owner.text()) return false;
    entry.until_us = end_us(now, ttl);
    return true;
  });
}

Renewal ToyLock::renew(Control* /*control*/, TimePoint /*until*/) {
  const TimePoint sent = runtime_.clock.now();
  const auto renewed = extend(spec_.ttl);
  if (!renewed) return RenewalUnknown{renewed.error().message};
  if (*renewed) return RenewalRenewed{lease_deadline(sent, spec_.ttl)};
  return RenewalLost{"it is not ours any more"};
}

Result<void> ToyLock::withdraw(TimePoint until) {
  const auto released = release(until);
  return released || released.error().code == ErrorCode::kLost ? Result<void>() : released;
}

Result<void> ToyLock::release(TimePoint /*until*/) {
  const auto released = store_.change(spec_.name, [&](Entry& entry) {
    if (entry.owner != spec_.owner.text()) return false;
    entry.owner = "-";
    return true;
  });
  if (!released) return released.error();
  return *released ? Result<void>() : Error{ErrorCode::kLost, spec_.name.text() + " was not ours any more", ""};
}

Result<void> ToyLock::leave(const LeaveSpec& spec, TimePoint /*until*/) {
  const auto extended = extend(spec.ttl);
  if (!extended) return extended.error();
  return *extended ? Result<void>() : Error{ErrorCode::kLost, spec_.name.text() + " was not ours any more", ""};
}

Result<LockState> ToyLock::read_state(TimePoint /*until*/, Control* /*control*/) {
  return store_.read_state(spec_.name, store_name_, runtime_.clock.wall());
}

}  // namespace dlock::toy
