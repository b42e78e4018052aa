// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lib/base/runtime.h"
#include "lib/keeper/acquisition.h"
#include "lib/keeper/lock_driver.h"
#include "lib/lock/lock_spec.h"

namespace dlock {

/// A store that does not announce a release: the part of it that PolledLock needs. The calls block within limits of
/// their own (one round to the servers) and end early when control wants it.
class PollableLock {
 public:
  /// Ours, counted from `sent`: before the first request that could have made it ours.
  struct Taken {
    FencingToken token;
    TimePoint sent;
    bool bound = false;  ///< HeldLock's
  };
  /// Another's; nothing of ours is left.
  struct Others {
    LockState state;
    std::optional<Duration> remaining;  ///< until it ends by itself, as far as is known
  };
  /// Error: the outcome is unknown, something of ours may be left until withdraw().
  using Attempt = std::variant<Taken, Others, Error>;

  virtual ~PollableLock() = default;
  virtual Attempt take(Control& control) = 0;
  virtual Renewal renew(Control* control, TimePoint until) = 0;
  /// Removes what may have been taken.
  virtual Result<void> withdraw(TimePoint until) = 0;
  virtual Result<void> release(TimePoint until) = 0;
  virtual Result<void> leave(const LeaveSpec& spec, TimePoint until) = 0;
  virtual Result<LockState> read_state(TimePoint until, Control* control) = 0;

  /// Between two calls: descriptors that show that a server has ended its connection, and with it perhaps forgotten the
  /// lock, or that the lock has changed there; when to look without any; and once why the lock is to be renewed now.
  virtual void add_interest(std::vector<pollfd>& /*fds*/) const {}
  virtual std::optional<TimePoint> wake_at() const { return std::nullopt; }
  virtual std::optional<std::string> disturbed(TimePoint /*now*/) { return std::nullopt; }
};

/// The pause after the `tries`th refusal: grows from 20 ms to 250 ms, by chance between its half and the whole, so that
/// two who refused each other do not meet again. Not longer than `remaining` and a few ms.
Duration polling_pause(int tries, std::optional<Duration> remaining, std::uint32_t chance);

/// One lock of such a store: waits by timers with jitter.
class PolledLock final : public LockDriver, private Acquirer {
 public:
  PolledLock(std::unique_ptr<PollableLock> store, const LockSpec& spec, std::string store_name, const Runtime& runtime);

  std::optional<std::variant<Granted, Refused>> acquire(Control& control) override;
  Renewal renew(Control& control, TimePoint until) override;
  void add_interest(std::vector<pollfd>& fds) const override { store_->add_interest(fds); }
  std::optional<TimePoint> wake_at() const override { return store_->wake_at(); }
  Renewal held(TimePoint now) override;
  Result<void> release(TimePoint until) override;
  Result<void> leave(const LeaveSpec& spec, TimePoint until) override;

 private:
  Attempt attempt(TimePoint until, Control& control) override;
  bool wait(std::optional<TimePoint> until, Control& control) override;
  Result<LockState> describe(Control& control) override;
  void withdraw() override;

  PollableLock::Attempt ask(TimePoint until, Control& control);
  Attempt granted(const PollableLock::Taken& taken);

  std::unique_ptr<PollableLock> store_;
  const LockSpec spec_;
  const std::string store_name_;
  const Runtime runtime_;
  Acquisition acquisition_;
  WallTime since_{};
  int tries_ = 0;  ///< attempts that were answered
  LockState seen_;
  std::optional<Duration> remaining_;  ///< of what was seen last
  TimePoint granted_at_{};             ///< when the lease of the grant began
  bool unknown_ = false;               ///< an attempt may have taken it
};

}  // namespace dlock
