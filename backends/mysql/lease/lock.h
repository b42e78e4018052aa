// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "backends/mysql/connection/waiting.h"
#include "backends/mysql/lease/store.h"
#include "lib/base/runtime.h"
#include "lib/keeper/acquisition.h"
#include "lib/keeper/lock_driver.h"

namespace dlock::mysql {

/// One lock of strategy=lease. The row decides who holds; the gate, a named lock, makes the queue:
///
///   gate is free:  take the gate and the row, and read it            --> held, with the gate
///   gate is taken: wait for it in the server's own queue --> the same --> held
///   there is no row yet, or we share one: read it --> write it --> held
///   row is busy though the gate was free (readers, a lease without a process, a holder that lost its connection):
///     the waiter with the gate looks again now and then, others do not
///
/// An exclusive holder keeps the gate, so its release wakes the first waiter alone. Readers and permit
/// holders pass through it. Where the server has no named locks every waiter looks by itself, with jitter.
class LeaseLock final : public LockDriver, private Acquirer {
 public:
  LeaseLock(Settings settings, const Dial& dial, const LockSpec& spec, const Runtime& runtime);

  std::optional<std::variant<Granted, Refused>> acquire(Control& control) override;
  Renewal renew(Control& control, TimePoint until) override;
  void add_interest(std::vector<pollfd>& fds) const override;
  std::optional<TimePoint> wake_at() const override { return std::nullopt; }
  Renewal held(TimePoint now) override;
  Result<void> release(TimePoint until) override;
  Result<void> leave(const LeaveSpec& spec, TimePoint until) override;

 private:
  struct Again {};  ///< another has changed the row: read it again at once
  using Step = std::variant<Busy, Again, Granted, Error>;

  Attempt attempt(TimePoint until, Control& control) override;
  bool wait(std::optional<TimePoint> until, Control& control) override;
  Result<LockState> describe(Control& control) override;
  void withdraw() override;

  Step read_and_decide(Control& control);
  Step decide(LeaseReading reading, Control& control);
  Step write(const LeaseReading& reading, LeaseTake take, Control& control);
  Duration collision_pause();
  bool passes_soon();
  TimePoint asked_by() const;
  void wait_at_gate(std::optional<TimePoint> until, Control& control);
  void stand_in_queue(Control& control);
  void sleep_on_server(std::optional<TimePoint> until, Control& control);
  Waited wait_in(std::string statement, std::string next, std::optional<TimePoint> until, Control& control);
  WaitingNote note() const;
  LeaseAsk make_ask(std::uint64_t connection) const;
  Result<LeaseReading> read(Control& control);
  Granted granted(const LeaseTake& take, TimePoint sent, Duration left);
  bool is_alone() const;
  RenewalRenewed renewed(TimePoint sent);
  Result<std::optional<Renewal>> renew_what_is_read(bool wants_gate, TimePoint until, Control& control);
  std::string why_lost(const LeaseReading& reading) const;
  Result<void> release_row(TimePoint until);

  const Runtime runtime_;
  const LockSpec spec_;
  const std::string store_name_;
  mutable Servers servers_;
  LeaseStore store_;
  const std::string who_;

  Acquisition acquisition_;
  bool waiting_ = false;      ///< a statement of ours waits on the connection
  const std::string holder_;  ///< our owner
  LeaseRow row_;              ///< as it was read or written last
  ServerTime read_at_ = 0;    ///< by the server's clock
  std::optional<LeaseReading> came_with_gate_;
  bool unknown_ = false;        ///< a change of ours was not answered, and may have been carried out
  bool unknown_take_ = false;   ///< that change is a take, which may also still be carried out later
  bool written_ = false;        ///< it is ours, as far as we know
  TimePoint leased_at_{};       ///< when the lease that the row has began, or before
  Control* control_ = nullptr;  ///< of acquire(), polled while it is held as well
  bool admits_ = false;         ///< the row was free for us, but another waiter had the gate
  int quick_ = 0;               ///< attempts while the gate was being passed by others
  int collisions_ = 0;          ///< in a row
  Duration pause_{0};           ///< between attempts without a queue of the server's; grows
  TimePoint next_beat_{};       ///< of the place in the poll queue
  std::int64_t remaining_ = 0;
  std::uint64_t connection_ = 0;  ///< the server's id of ours
  int generation_ = 0;            ///< Servers::generation() of that connection
  ServerTime since_ = 0;          ///< when we began to wait
};

}  // namespace dlock::mysql
