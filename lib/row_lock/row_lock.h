// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lib/base/runtime.h"
#include "lib/keeper/acquisition.h"
#include "lib/keeper/lock_driver.h"
#include "lib/row_lock/record_store.h"
#include "lib/rows/row_queue.h"

namespace dlock {

/// One lock that is a row (lib/row_lock/record.h), in a store that knows its clock when it commits
/// (Rows::Change::kBefore): every kind of lock, first come first served.
///
///   free:   filled                                          --> held              one round trip
///   busy:   read --> stands in the queue, and listens: told by whoever makes room for it --> read --> written --> held
///           where nobody is told, who is first looks now and then, the others more seldom
///   held:   alone: written at the version, before the lease is over               one round trip
///           with others: read --> written
///   given back: alone: emptied at the version                                     one round trip
///
/// Where the store has a queue of its own (RowQueue), it stands before all that:
///
///   head is free:  filled, and read                         --> held, at the head     one round trip
///   head is taken: wait --> woken --> filled                --> held
///   head is ours, but not the lock (it has readers, is left to no process, or its holder lost its connection): as
///   above
///
/// An exclusive holder stays at the head, so its release wakes the first waiter alone. Others pass.
///
/// A waiter that was not heard of for some seconds is passed over.
class RowLock final : public LockDriver, private Acquirer {
 public:
  /// `rows`: of kLockSpace.
  RowLock(std::unique_ptr<Rows> rows, const LockSpec& spec, const Runtime& runtime);

  std::optional<std::variant<Granted, Refused>> acquire(Control& control) override;
  Renewal renew(Control& control, TimePoint until) override;
  void add_interest(std::vector<pollfd>& fds) const override { rows_->add_interest(fds); }
  std::optional<TimePoint> wake_at() const override { return listen_at_; }
  Renewal held(TimePoint now) override;
  Result<void> release(TimePoint until) override;
  Result<void> leave(const LeaveSpec& spec, TimePoint until) override;

 private:
  struct Again {};  ///< another has changed the record
  using Step = std::variant<Busy, Again, Granted, Error>;

  Attempt attempt(TimePoint until, Control& control) override;
  bool wait(std::optional<TimePoint> until, Control& control) override;
  Result<LockState> describe(Control& control) override;
  void withdraw() override;

  Step take_or_queue(bool first, Control& control);
  Result<RecordReading> look(bool fills, Control& control);
  RowQueue* queue() const;
  bool passes_soon();
  void wait_in_queue(std::optional<TimePoint> until, Control& control);
  Step decide(const RecordReading& reading, Control& control);
  void tell_queued();
  Step stand_in_queue(const RecordReading& reading, Control& control);
  CallLimit limit(Control& control) const;
  Error failed(const Error& error, bool& unknown) const;
  Granted granted(const RecordReading& held, Duration left);
  Duration look_pause();
  bool is_alone() const;
  Renewal renewed(const RecordReading& written);
  Result<RecordReading> look_again(const CallLimit& limit);
  Result<Renewal> renew_what_is_read(const CallLimit& limit);
  std::string why_lost(const RecordReading& reading) const;
  bool was_told(const CallLimit& limit);
  Result<void> give_back(TimePoint until);

  const Runtime runtime_;
  const LockSpec spec_;
  const std::unique_ptr<Rows> rows_;
  RecordStore store_;
  const LeaseAsk ask_;
  const std::string owner_;
  const std::string text_;  ///< of the record of a free lock that we take
  Acquisition acquisition_;
  Control* control_ = nullptr;          ///< of acquire(), polled while it is held as well
  std::optional<RecordReading> seen_;   ///< as it was read or written last; nullopt: not known any more
  std::optional<bool> listens_;         ///< in the queue; nullopt: not asked yet, or it may have ended
  std::optional<TimePoint> listen_at_;  ///< while it is held
  std::optional<RecordReading> came_with_turn_;
  bool waits_in_queue_ = false;        ///< of the store: the connection is not free for questions
  bool admits_ = false;                ///< the lock was free for us, but another waiter is at the head
  int quick_ = 0;                      ///< attempts while the head was being passed by others
  StoreTime since_ = 0;                ///< when we began to wait
  bool queued_ = false;                ///< in the record
  TimePoint next_beat_{};              ///< of the place in the queue
  std::size_t place_ = 0;              ///< in the queue: so many stand before us
  std::optional<Duration> remaining_;  ///< until something ends by itself that keeps us out
  Duration pause_{0};                  ///< before the next look by ourselves; grows
  bool unknown_take_ = false;          ///< a take was not answered: it may have been done, or be done yet
  bool unknown_ = false;               ///< the same of any other change of ours
  bool held_ = false;
  TimePoint leased_at_{};  ///< when the lease in the record began, or before
};

}  // namespace dlock
