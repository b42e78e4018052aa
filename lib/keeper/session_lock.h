// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lib/base/clock.h"
#include "lib/keeper/lock_driver.h"
#include "lib/lock/lock_session.h"

namespace dlock {

/// A lock of a backend that needs no keeper, held by a keeper all the same: because it holds something else as well.
class SessionLock final : public LockDriver {
 public:
  /// `session` came from `open`.
  SessionLock(OpenSession open, std::unique_ptr<LockSession> session, Clock& clock)
      : open_(std::move(open)), session_(std::move(session)), clock_(clock) {}

  std::optional<std::variant<Granted, Refused>> acquire(Control& control) override;
  Renewal renew(Control& control, TimePoint until) override;
  void add_interest(std::vector<pollfd>& fds) const override { session_->add_interest(fds); }
  std::optional<TimePoint> wake_at() const override { return session_->wake_at(); }
  Renewal held(TimePoint now) override;
  Result<void> release(TimePoint until) override;
  Result<void> leave(const LeaveSpec& spec, TimePoint until) override;

 private:
  void withdraw();

  OpenSession open_;  ///< outlives its session
  std::unique_ptr<LockSession> session_;
  Clock& clock_;
};

}  // namespace dlock
