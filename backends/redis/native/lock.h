// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backends/redis/native/store.h"
#include "backends/redis/native/wake_channel.h"
#include "lib/base/runtime.h"
#include "lib/keeper/lock_driver.h"

namespace dlock::redis {

/// One lock in the native layout. Waiters are told by a channel of their own when their turn has come; the first in the
/// queue, and everybody behind a foreign client, also hears of changes of the key; a timer on the remaining lease
/// covers what no message tells. A holder hears of changes of its key (force-release, DEL by an operator).
class NativeLock final : public LockDriver {
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
  using Answer = std::optional<std::variant<Granted, Refused>>;

  NativeAsk make_ask(bool enqueue) const;
  Result<NativeAnswer> attempt(Control& control, bool enqueue);
  Answer granted(const NativeGrant& grant);
  Answer refuse(Error error);
  Answer busy(Control& control);
  Answer stopped();
  void give_up();
  bool wait_for_turn(const NativeBusy& busy, Control& control);
  bool wait_until(TimePoint until, Control& control);
  bool worth_another_try(const Error& error);
  bool outlives_outages() const;
  void trace(const std::string& step, int verbosity = 1) const;
  void trace(const NativeBusy& busy);
  Duration connect_timeout() const;
  bool pause(Duration length, Control& control);
  Duration look_budget() const;
  void listen(Control& control);
  bool watch_key(bool all_reads, bool* changed, Duration budget, Control* control);
  bool time_is_over(TimePoint now) const;
  Duration interval() const;

  std::unique_ptr<Deployment> deployment_;
  const Runtime runtime_;
  const LockSpec spec_;
  NativeStore store_;
  const std::string store_name_;
  WakeChannel wake_;
  Owner holder_;  ///< whose hold it is: ours, or the ancestor's that we joined
  std::string info_;
  std::string arrival_;
  Control* control_ = nullptr;  ///< of acquire(): nothing that is done while the lock is held goes on without it
  int deaf_ = 0;                ///< how often the channel of a holder could not be opened
  bool polls_ = false;
  bool asked_ = false;    ///< something of ours may be in the store
  bool unknown_ = false;  ///< an answer is missing
  bool denied_ = false;   ///< the last attempt was, with or without having been done
  int attempts_ = 0;
  int told_place_ = -1;                 ///< with -v
  Duration pause_{0};                   ///< of a poller, growing
  TimePoint tried_{};                   ///< when the last attempt began
  TimePoint sent_{};                    ///< what the lease counts from
  std::optional<TimePoint> out_since_;  ///< the first attempt that reached nobody, of those in a row
  std::optional<TimePoint> watch_at_;
};

}  // namespace dlock::redis
