// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/redis/redisson/store.h"
#include "backends/redis/wire/wake_channel.h"
#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/keeper/acquisition.h"
#include "lib/keeper/lock_driver.h"

namespace dlock::redis {

/// One lock of Redisson's. It waits as Redisson's clients do: subscribes, asks again, sleeps until a message or until
/// the lease that was seen has ended; and looks by itself from time to time, for what Redisson tells nobody. A holder
/// hears of changes of its key.
class RedissonLock final : public LockDriver, private Acquirer {
 public:
  RedissonLock(std::unique_ptr<Deployment> deployment, RedissonKind kind, RedissonNames names, std::string store,
               LockSpec spec, ReplicaDemand replicas, const Runtime& runtime);

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

  RedissonAsk make_ask() const;
  Attempt look(TimePoint until, Control& control);
  Attempt granted(const RedissonGrant& grant);
  void trace();
  Duration interval() const;
  Duration look_budget() const;
  TimePoint next_look();
  bool is_listening();
  bool listen(TimePoint until, Control* control);
  std::string wake_channel() const;
  std::optional<bool> is_still_ours(TimePoint until);
  Renewal lost(std::string otherwise, TimePoint until);

  std::unique_ptr<Deployment> deployment_;
  const Runtime runtime_;
  const LockSpec spec_;
  RedissonStore store_;
  const std::string store_name_;
  WakeChannel wake_;
  Acquisition acquisition_;
  Owner holder_;  ///< whose hold it is: ours, or the ancestor's that we joined
  std::string info_;
  WallTime since_{};
  Control* control_ = nullptr;  ///< of acquire(): nothing that is done while the lock is held goes on without it
  Endpoint heard_from_;         ///< the server that the channel is open to
  int deaf_ = 0;                ///< how often the channel of a holder could not be opened
  bool enqueue_ = false;        ///< the next attempt takes a place in the queue
  bool told_ = false;           ///< of a waiter: messages come
  bool asked_ = false;          ///< something of ours may be in the store
  bool unknown_ = false;        ///< an answer is missing
  bool denied_ = false;         ///< the last attempt was, with or without having been done
  RedissonBusy by_;             ///< why it is not ours, the last time
  Duration pause_{0};           ///< of a poller, growing
  std::optional<TimePoint> watch_at_;
};

/// One lock of Redisson's, for its keeper. Unsupported if its kind cannot do what `spec` asks.
Result<std::unique_ptr<LockDriver>> keep_redisson_lock(const BackendUrl& url, const LockSpec& spec,
                                                       const Runtime& runtime);

}  // namespace dlock::redis
