// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/toy/store.h"
#include "lib/base/runtime.h"
#include "lib/keeper/polled_lock.h"
#include "lib/lock/lock_spec.h"

namespace dlock::toy {

/// One lock, for PolledLock: nobody is told when it becomes free. Re-entry is refused: the outer hold has it.
class ToyLock final : public PollableLock {
 public:
  ToyLock(ToyStore store, const LockSpec& spec, std::string store_name, const Runtime& runtime)
      : store_(std::move(store)), spec_(spec), store_name_(std::move(store_name)), runtime_(runtime) {}

  Attempt take(Control& control) override;
  Renewal renew(Control* control, TimePoint until) override;
  Result<void> withdraw(TimePoint until) override;
  Result<void> release(TimePoint until) override;
  Result<void> leave(const LeaveSpec& spec, TimePoint until) override;
  Result<LockState> read_state(TimePoint until, Control* control) override;

 private:
  Result<bool> extend(Duration ttl);

  const ToyStore store_;
  const LockSpec spec_;
  const std::string store_name_;
  const Runtime runtime_;
};

}  // namespace dlock::toy
