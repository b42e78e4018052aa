// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "lib/lock/lock_session.h"

namespace dlock {

/// Several locks as one: all or none. They are taken one after the other in the order given, which must be the
/// canonical one (that of their names): two callers then never wait for each other in a circle (Havender 1968,
/// "Avoiding deadlock in multitasking systems"). The deadline of the whole is the earliest of the parts; the loss of
/// one part is the loss of the whole, whenever it is found out; the other parts are held until release().
class MultiLock final : public LockSession {
 public:
  /// REQUIRES: at least one session.
  explicit MultiLock(std::vector<std::unique_ptr<LockSession>> sessions);

  void acquire(TimePoint now) override;
  void withdraw(TimePoint deadline) override;
  void release(TimePoint deadline) override;
  void ask_who() override;
  void add_interest(std::vector<pollfd>& fds) const override;
  std::optional<TimePoint> wake_at() const override;
  std::optional<SessionEvent> next_event(TimePoint now) override;
  void add_inherited(std::vector<int>& fds) const override;
  void add_keepers(std::vector<pid_t>& pids) const override;
  void command_started(const GuardHandles& guard) override;
  void command_over() override;
  void command_ended(int wait_status) override;
  Result<void> detach(const DetachSpec& spec) override;

 private:
  enum class State { kIdle, kWaiting, kHeld, kGivingBack, kOver };
  struct Part {
    std::unique_ptr<LockSession> session;
    State state = State::kIdle;
    std::optional<TimePoint> deadline;
    std::optional<LockName> name = {};  ///< once it is held
  };

  bool is_live(const Part& part) const { return part.state != State::kIdle && part.state != State::kOver; }
  std::optional<SessionEvent> on_event(Part& part, SessionEvent event, TimePoint now);
  std::optional<SessionEvent> on_granted(Part& part, const Granted& granted, TimePoint now);
  std::optional<SessionEvent> on_asked(const Part& part, const Lost& asked, TimePoint now);
  std::optional<SessionEvent> end_of_part(const Part& part, SessionEvent event, TimePoint now);
  bool over() const;
  void unwind(SessionEvent verdict, TimePoint deadline);
  std::optional<TimePoint> earliest_deadline() const;
  std::optional<SessionEvent> finished();

  std::vector<Part> parts_;
  std::vector<HeldLock> locks_;
  Duration lease_{0};  ///< the shortest that is not the ttl; 0: there is none
  bool all_held_ = false;
  std::optional<SessionEvent> verdict_;  ///< said when every part is over
  std::optional<Lost> lost_;             ///< found out by the release
  std::optional<Error> unconfirmed_;
};

}  // namespace dlock
