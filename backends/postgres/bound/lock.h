// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backends/postgres/bound/store.h"
#include "lib/base/runtime.h"
#include "lib/keeper/polled_lock.h"
#include "lib/lock/lock_spec.h"

namespace dlock::postgres {

/// strategy=session: an advisory lock, which the server frees with the connection of its keeper. A renewal is a
/// question on that connection, which is never made again in silence; the server ends a session that it has not heard
/// of for the ttl, so that a client which is cut off does not keep the lock. Who waits asks again and again.
class BoundLock final : public PollableLock {
 public:
  BoundLock(Settings settings, const LockSpec& spec, const Runtime& runtime);

  Attempt take(Control& control) override;
  Renewal renew(Control* control, TimePoint until) override;
  Result<void> withdraw(TimePoint until) override;
  Result<void> release(TimePoint until) override;
  Result<void> leave(const LeaveSpec& spec, TimePoint until) override;
  Result<LockState> read_state(TimePoint until, Control* control) override;
  void add_interest(std::vector<pollfd>& fds) const override;
  std::optional<std::string> disturbed(TimePoint now) override;

 private:
  Result<void> prepare(const CallLimit& limit);
  Result<Rows::Number> write_record(const CallLimit& limit);
  Renewal answer(Control* control, TimePoint until);
  Renewal judge(const AnswerOrFailure& outcome, TimePoint sent) const;
  bool has_lost_connection() const;

  const Runtime runtime_;
  const LockSpec spec_;
  const std::shared_ptr<Servers> servers_;
  const std::unique_ptr<Rows> rows_;
  const std::string number_;
  int prepared_ = 0;  ///< the connection of this number, 0: none
  Rows::Number token_ = 0;
  std::optional<TimePoint> ping_sent_;
};

}  // namespace dlock::postgres
