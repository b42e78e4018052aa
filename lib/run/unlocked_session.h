// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lib/lock/lock_session.h"

namespace dlock {

/// No lock at all (--if-unavailable=run): granted and released at once, without a store.
class UnlockedSession final : public LockSession {
 public:
  void acquire(TimePoint /*now*/) override { event_ = Granted{}; }
  void withdraw(TimePoint /*deadline*/) override { event_ = Withdrawn{}; }
  void release(TimePoint /*deadline*/) override { event_ = Released{}; }
  void ask_who() override {}
  void add_interest(std::vector<pollfd>& /*fds*/) const override {}
  std::optional<TimePoint> wake_at() const override { return std::nullopt; }
  std::optional<SessionEvent> next_event(TimePoint /*now*/) override { return std::exchange(event_, std::nullopt); }
  Result<void> detach(const DetachSpec& /*spec*/) override { return {}; }

 private:
  std::optional<SessionEvent> event_;
};

}  // namespace dlock
