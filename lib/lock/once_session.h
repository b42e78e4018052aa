// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/lock/lock_admin.h"
#include "lib/lock/lock_session.h"

namespace dlock {

/// A run that happens once for each slot of a key (--once).
struct OncePolicy {
  LockName slot;         ///< LockName::of_slot(): the lock that remembers it
  Duration remember{0};  ///< the ttl of that lock
};

/// The slots of `state` that have run, into state.remembered. Best effort: what cannot be read is left out.
void add_remembered(LockState& state, LockAdmin& admin);

/// A lock under which a command runs once for each slot. A slot that has run is a lease without a process, taken under
/// the lock as soon as the command has ended, with the command's end (Participant::ran). A slot is looked at before the
/// lock is asked for, and again when it is granted: Repeated if it has run, and whatever is wrong with the place where
/// it would be remembered. A run that is killed between the end of the command and the lease has not run, and the next
/// one runs again: at least once. What was written stays, also where the store could not confirm it.
///
/// acquire() and next_event() wait for the store of the slot, which the policy's sessions do for their connect timeout
/// at most; command_ended() does for as long as a command may run under the lock. The clock and the log must outlive
/// it.
class OnceSession final : public LockSession {
 public:
  /// One session of the slot's lock: to take it under a lock with this deadline, or to see whether it is free.
  enum class Wants { kLook, kTake };
  using OpenSlot = std::function<Result<std::unique_ptr<LockSession>>(Wants, std::optional<TimePoint> deadline)>;

  OnceSession(std::unique_ptr<LockSession> lock, OncePolicy policy, OpenSlot open_slot, Clock& clock, const Log& log);

  void acquire(TimePoint now) override;
  void withdraw(TimePoint deadline) override {
    if (!giving_back_) lock_->withdraw(deadline);
  }
  void release(TimePoint deadline) override { lock_->release(deadline); }
  void ask_who() override { lock_->ask_who(); }
  void add_interest(std::vector<pollfd>& fds) const override { lock_->add_interest(fds); }
  std::optional<TimePoint> wake_at() const override {
    return refused_ && !giving_back_ ? TimePoint{} : lock_->wake_at();
  }
  std::optional<SessionEvent> next_event(TimePoint now) override;
  int inherited_fd() const override { return lock_->inherited_fd(); }
  pid_t keeper_pid() const override { return lock_->keeper_pid(); }
  void command_started(const GuardHandles& guard) override { lock_->command_started(guard); }
  void command_ended(int wait_status) override;
  void command_over() override { lock_->command_over(); }
  Result<void> detach(const DetachSpec& spec) override { return lock_->detach(spec); }

 private:
  /// Why nothing is to be run: the slot has run, or the store cannot be asked.
  std::optional<Refused> look();
  void remember(int wait_status);
  void warn_unconfirmed(const Error& why);

  std::unique_ptr<LockSession> lock_;
  const OncePolicy policy_;
  const OpenSlot open_slot_;
  Clock& clock_;
  const Log& log_;
  std::optional<Refused> refused_;  ///< reported at once, or after the release
  bool giving_back_ = false;
  std::optional<TimePoint> deadline_;  ///< of the lock
};

}  // namespace dlock
