// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/redis/native/store.h"
#include "backends/redis/wire/wake_channel.h"
#include "lib/base/runtime.h"
#include "lib/keeper/acquisition.h"
#include "lib/keeper/lock_driver.h"

namespace dlock::redis {

/// One lock in the native layout. Waiters are told by a channel of their own when their turn has come; the first in the
/// queue, and everybody behind a foreign client, also hears of changes of the key; a timer on the remaining lease
/// covers what no message tells. A holder hears of changes of its key (force-release, DEL by an operator).
class NativeLock final : public LockDriver, private Acquirer {
 public:
  NativeLock(std::unique_ptr<Deployment> deployment, NativeNames names, std::string store, LockSpec spec,
             ReplicaDemand replicas, const Runtime& runtime);

  std::optional<std::variant<Granted, Refused>> acquire(Control& control) override;
  Renewal renew(Control& control, TimePoint until) override;
  void add_interest(std::vector<pollfd>& fds) const override;
  std::optional<TimePoint> wake_at() const override { return watch_at_; }
  Renewal held(TimePoint now) override;
  Result<void> release(TimePoint until) override;
  Result<void> leave(Duration ttl, TimePoint until) override;

 private:
  Attempt attempt(TimePoint until, Control& control) override;
  bool wait(std::optional<TimePoint> until, Control& control) override;
  Result<LockState> describe(Control& control) override;
  void give_up() override;

  NativeAsk make_ask() const;
  Attempt granted(const NativeGrant& grant);
  std::optional<TimePoint> next_look(Control& control);
  Renewal lost(std::string otherwise, TimePoint until);
  void trace(const NativeBusy& busy);
  Duration look_budget() const;
  void listen(Control& control);
  bool watch_key(bool all_reads, bool* changed, Duration budget, Control* control);
  Duration interval() const;

  std::unique_ptr<Deployment> deployment_;
  const Runtime runtime_;
  const LockSpec spec_;
  NativeStore store_;
  const std::string store_name_;
  WakeChannel wake_;
  Acquisition acquisition_;
  Owner holder_;  ///< whose hold it is: ours, or the ancestor's that we joined
  std::string info_;
  std::string arrival_;
  Control* control_ = nullptr;  ///< of acquire(): nothing that is done while the lock is held goes on without it
  int deaf_ = 0;                ///< how often the channel of a holder could not be opened
  bool enqueue_ = false;        ///< the next attempt takes a place in the queue
  bool polls_ = false;
  bool asked_ = false;            ///< something of ours may be in the store
  bool unknown_ = false;          ///< an answer is missing
  bool denied_ = false;           ///< the last attempt was, with or without having been done
  std::optional<NativeBusy> by_;  ///< why it is not ours, the last time
  Duration pause_{0};             ///< of a poller, growing
  TimePoint sent_{};              ///< what the lease counts from
  std::optional<TimePoint> watch_at_;
};

}  // namespace dlock::redis
