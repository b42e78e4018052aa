// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/local/context.h"
#include "backends/local/files/file_watch.h"
#include "backends/local/files/path_lock.h"
#include "backends/local/queue_entry.h"
#include "backends/local/waiting_child.h"
#include "lib/keeper/acquisition_steps.h"
#include "lib/lock/lock_session.h"
#include "lib/lock/lock_spec.h"

namespace dlock::local {

/// One acquisition on this machine: drives a QueueEntry through its waits. All waiting is done by the caller's poll,
/// woken by a WaitingChild's pipe, by inotify or by a timer.
class LocalLock final : public LockSession, private AcquisitionSteps::Driver {
 public:
  /// `context` must outlive the session.
  LocalLock(LocalContext& context, const LockSpec& spec);

  void acquire(TimePoint now) override;
  void withdraw(TimePoint deadline) override;
  void release(TimePoint deadline) override;
  void ask_who() override;
  void add_interest(std::vector<pollfd>& fds) const override;
  std::optional<TimePoint> wake_at() const override;
  std::optional<SessionEvent> next_event(TimePoint now) override;
  int inherited_fd() const override;
  void command_started(const GuardHandles& guard) override;
  void command_ended(int wait_status) override { ran_ = wait_status; }
  Result<void> detach(const DetachSpec& spec) override;

 private:
  enum class State {
    kIdle,
    kGuardStuck,   ///< again at retry_at_
    kQueued,       ///< waiter_ waits for older tickets; a look at the header every second
    kFirstInLine,  ///< a permit, or the end of a lock-delay or of a lease: watch_ and a ladder of looks
    kPause,        ///< between counted tries
    kFlock,        ///< path key: ours in the queue, waiter_ waits for flock(2)
    kGranted,
    kDone,
  };

  void start(TimePoint now);
  void attempt(TimePoint now);
  void take(const Result<QueueEntry::Step>& step, TimePoint now);
  void wait(QueueEntry::Step step, TimePoint now);
  void wait_in_queue(TimePoint now);
  void wait_in_front(TimePoint now);
  void trace_busy(const char* place);
  void take_flock(TimePoint now);
  void wait_for_flock(TimePoint now);
  void flock_granted(std::int64_t pid, TimePoint now);
  void granted(TimePoint now);
  HeldLock held_lock() const;

  Result<LockState> describe() override;
  void withdraw() override;
  Result<void> revoke(const LockState& shown, const std::string& by) override;
  void tell(SessionEvent event) override { events_.push_back(std::move(event)); }

  void look_around(TimePoint now);
  void look_at_waiter(TimePoint now);
  Result<bool> pass_over_stopped(TimePoint now);
  void look_at_front(TimePoint now);
  void look_for_loss(TimePoint now);
  bool replaced() const;
  void lose();

  void release_entry();
  void let_go();
  void end(SessionEvent event);
  void refuse(Error error) { end(steps_.refused(std::move(error))); }

  LocalContext& context_;
  LockSpec spec_;
  AcquisitionSteps steps_;
  State state_ = State::kIdle;
  TimePoint started_{};
  TimePoint retry_at_{};
  Duration ladder_{0};
  std::optional<TimePoint> stopped_since_;  ///< only stopped waiters have been before us, at every look
  bool watches_loss_ = false;               ///< while holding: watch_ announces it
  bool asked_ = false;                      ///< while holding: it was revoked, and the caller knows
  bool look_again_ = false;                 ///< while holding: the file could not be read
  std::optional<QueueEntry> queue_entry_;
  PathLock path_;
  std::optional<WaitingChild>
      waiter_;  ///< after queue_entry_ and path_: it must be gone before their descriptors are closed
  std::vector<SessionEvent> events_;  ///< of which the caller knows none; hardly ever more than one
  std::optional<FileWatch> watch_;    ///< of the file: while first in line for a permit, and while holding
  mutable bool passed_on_ = false;    ///< the descriptor may live on in a command
  std::optional<int> ran_;            ///< the wait status of the command that has ended
  bool detached_ = false;             ///< a lease by now, which release() gives back as any process would
};

}  // namespace dlock::local
