// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "backends/local/backend.h"
#include "backends/local/rows/rows.h"
#include "lib/base/clock.h"
#include "lib/keeper/lock_driver.h"
#include "lib/lock/lock_session.h"

namespace dlock {
namespace {

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

using namespace std::chrono_literals;

constexpr Duration kWithdrawBudget = 1s;

std::optional<std::variant<Granted, Refused>> SessionLock::acquire(Control& control) {
  session_->acquire(clock_.now());
  while (true) {
    while (auto event = session_->next_event(clock_.now())) {
      if (auto* granted = std::get_if<Granted>(&*event)) return std::move(*granted);
      if (auto* refused = std::get_if<Refused>(&*event)) return std::move(*refused);
      if (is_of_wait(*event)) control.tell(*event);
    }
    if (control.stop_requested()) {
      withdraw();
      return std::nullopt;
    }
    if (control.take_who()) session_->ask_who();
    std::vector<pollfd> fds;
    control.add_interest(fds);
    session_->add_interest(fds);
    clock_.wait(fds, session_->wake_at());
  }
}

void SessionLock::withdraw() {
  const TimePoint until = clock_.now() + kWithdrawBudget;
  session_->withdraw(until);
  while (const auto event = wait_for_event(*session_, clock_, until)) {
    if (!is_of_wait(*event)) return;
  }
}

Renewal SessionLock::renew(Control& /*control*/, TimePoint /*until*/) { return held(clock_.now()); }

Renewal SessionLock::held(TimePoint now) {
  Renewal answer = RenewalHeld{};
  while (const auto event = session_->next_event(now)) {
    if (const auto* lost = std::get_if<Lost>(&*event)) {
      return lost->final ? Renewal(RenewalLost{lost->why}) : RevocationRequested{lost->why, lost->by};
    }
    if (const auto* gone = std::get_if<SessionGone>(&*event)) return RenewalLost{gone->why};
    if (const auto* renewed = std::get_if<Renewed>(&*event)) answer = RenewalRenewed{renewed->deadline};
  }
  return answer;
}

Result<void> SessionLock::release(TimePoint until) { return release_and_wait(*session_, clock_, until - clock_.now()); }

Result<void> SessionLock::leave(const LeaveSpec& spec, TimePoint /*until*/) {
  return session_->detach({spec.ttl, std::nullopt});
}

}  // namespace

Result<std::unique_ptr<LockDriver>> keep_local_lock(const BackendUrl& url, const LockSpec& spec,
                                                    const Runtime& runtime) {
  OpenSession open = open_local_sessions(url, runtime);
  auto session = open(spec);
  if (!session) return session.error();
  return std::unique_ptr<LockDriver>(
      std::make_unique<SessionLock>(std::move(open), std::move(*session), runtime.clock));
}

}  // namespace dlock
