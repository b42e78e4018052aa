// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/lock/lock_admin.h"
#include "lib/lock/lock_session.h"

namespace dlock {

/// A run that happens once for each slot of a key (--once).
struct OncePolicy {
  LockName slot;         ///< slot_name(): the lock that remembers it
  Duration remember{0};  ///< the ttl of that lock
};

/// The lock whose lease remembers that `slot` of `key` has run: "nightly:once:2026-11-26". Invalid for an empty slot,
/// for what no lock name may have, and where both together are too long for one.
Result<LockName> slot_name(const LockName& key, std::string_view slot);

/// Between a key and the name of a slot.
inline constexpr std::string_view kOnceMark = ":once:";

/// "slot 2026-11-26 of nightly", as a person knows it.
std::string slot_text(const LockName& slot);

/// Whether it is the lease of a slot that has run, or is about to be: no command runs under it. An ordinary lock may
/// have such a name, too.
bool is_slot(const LockState& state);

/// The slots of `state` that have run, into state.remembered. Best effort: what cannot be read is left out.
void add_remembered(LockState& state, LockAdmin& admin);

/// A lock under which a command runs once for each slot. A slot that has run is a lease without a process, taken under
/// the lock after the command has ended, and before the lock is released, with the command's end (Participant::ran). A
/// slot is looked at before the lock is asked for, and again when it is granted: Repeated if it has run. A run that is
/// killed between the end of the command and the lease has not run, and the next one runs again: at least once.
///
/// acquire(), next_event(), release() and detach() wait for the store of the slot, which the policy's sessions do for
/// their connect timeout at most. The clock and the log must outlive it.
class OnceSession final : public LockSession {
 public:
  /// One session of the slot's lock: to take it, or to see whether it is free.
  enum class Wants { kLook, kTake };
  using OpenSlot = std::function<Result<std::unique_ptr<LockSession>>(Wants)>;

  OnceSession(std::unique_ptr<LockSession> lock, OncePolicy policy, OpenSlot open_slot, Clock& clock, const Log& log);

  void acquire(TimePoint now) override;
  void withdraw(TimePoint deadline) override {
    if (!giving_back_) lock_->withdraw(deadline);
  }
  void release(TimePoint deadline) override;
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
  void command_over() override {
    status_.reset();  // it ended beside a lock that was lost
    lock_->command_over();
  }
  Result<void> detach(const DetachSpec& spec) override;

 private:
  /// Why nothing is to be run: the slot has run, or the store cannot be asked.
  std::optional<Refused> look();
  void remember();

  std::unique_ptr<LockSession> lock_;
  const OncePolicy policy_;
  const OpenSlot open_slot_;
  Clock& clock_;
  const Log& log_;
  std::optional<Refused> refused_;  ///< reported at once, or after the release
  bool giving_back_ = false;
  std::optional<int> status_;  ///< of the command that has ended under the lock
};

}  // namespace dlock
