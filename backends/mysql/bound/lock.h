// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "backends/mysql/bound/store.h"
#include "backends/mysql/connection/record.h"
#include "lib/base/runtime.h"
#include "lib/keeper/acquisition.h"
#include "lib/keeper/lock_driver.h"

namespace dlock::mysql {

/// One lock that its connection holds (strategy=session, strategy=row). The server frees it when the connection ends,
/// and ends the connection when it has heard nothing for `ttl` (wait_timeout): what the server says between two pings
/// is therefore a lease, counted from before the last ping that was answered. A connection that breaks is a lock that
/// is lost, at once. The token and the holder are in a record beside it, for people and for fencing; they decide
/// nothing.
class ConnectionBoundLock final : public LockDriver, private Acquirer {
 public:
  ConnectionBoundLock(Settings settings, const Dial& dial, const LockSpec& spec, const Runtime& runtime);

  std::optional<std::variant<Granted, Refused>> acquire(Control& control) override;
  Renewal renew(Control& control, TimePoint until) override;
  void add_interest(std::vector<pollfd>& fds) const override;
  std::optional<TimePoint> wake_at() const override { return std::nullopt; }
  Renewal held(TimePoint now) override;
  Result<void> release(TimePoint until) override;
  Result<void> leave(const LeaveSpec& spec, TimePoint until) override;

 private:
  Attempt attempt(TimePoint until, Control& control) override;
  bool wait(std::optional<TimePoint> until, Control& control) override;
  Result<LockState> describe(Control& control) override;
  void withdraw() override { servers_.close(); }

  Attempt try_once(Control& control);
  Result<void> takes_changes(TimePoint until, Control& control);
  Attempt take(TimePoint until, Control& control);
  Attempt granted(TimePoint sent, TimePoint until, Control& control);
  bool may_be_a_look();
  void wait_in_queue(std::optional<TimePoint> until, Control& control);
  Error lost_with_connection();
  Result<void> release_row(TimePoint until);
  std::optional<Renewal> pinged(Database& database);
  bool is_relieved() const;
  Renewal judge_ping(const Answer& answer, TimePoint sent) const;

  const Settings settings_;
  const Runtime runtime_;
  const LockSpec spec_;
  mutable Servers servers_;
  HolderRow record_;
  BoundStore store_;
  const std::string who_;
  Acquisition acquisition_;

  std::uint64_t token_ = 0;       ///< of our hold
  bool got_it_ = false;           ///< the wait in the queue has ended with the lock
  bool changes_refused_ = false;  ///< the server gave us the lock, but refused to write the record
  int prepared_ = -1;  ///< the connection (Servers::generation) on which BoundStore::prepare() was done; -1: none
  std::uint64_t session_ = 0;  ///< the server's id of our connection
  StoreTime since_ = 0;
  int quick_ = 0;                       ///< attempts so far on a row that may be locked only briefly, by a view
  std::optional<TimePoint> ping_sent_;  ///< when the ping was sent that is not answered yet
};

}  // namespace dlock::mysql
