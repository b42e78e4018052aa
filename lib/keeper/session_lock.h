// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lib/base/clock.h"
#include "lib/keeper/kept_lock.h"
#include "lib/lock/backend.h"

namespace dlock {

/// A lock of a backend that needs no keeper, held by a keeper all the same: because it holds something else as well.
class SessionLock final : public KeptLock {
 public:
  /// `session` is one of `backend`'s.
  SessionLock(std::unique_ptr<Backend> backend, std::unique_ptr<LockSession> session, Clock& clock)
      : backend_(std::move(backend)), session_(std::move(session)), clock_(clock) {}

  std::optional<std::variant<Granted, Refused>> acquire(Control& control) override;
  Renewal renew(Control& control, TimePoint until) override;
  void add_interest(std::vector<pollfd>& fds) const override { session_->add_interest(fds); }
  std::optional<TimePoint> wake_at() const override { return session_->wake_at(); }
  Renewal held(TimePoint now) override;
  Result<void> release(TimePoint until) override;
  Result<void> leave(Duration ttl, TimePoint until) override;

 private:
  void withdraw();

  std::unique_ptr<Backend> backend_;
  std::unique_ptr<LockSession> session_;
  Clock& clock_;
};

}  // namespace dlock
