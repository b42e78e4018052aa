// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backends/redis/deployment/script_lock.h"
#include "backends/redis/redisson/store.h"
#include "lib/config/backend_url.h"

namespace dlock::redis {

/// One lock in Redisson's layout. It waits as Redisson's clients do: subscribes, asks again, sleeps until a message
/// comes or the lease that it saw has ended; it also asks from time to time, because Redisson does not publish every
/// release. A holder hears of changes of its key.
class RedissonLock final : public ScriptLock {
 public:
  RedissonLock(std::unique_ptr<Deployment> deployment, RedissonKind kind, RedissonNames names, std::string store,
               LockSpec spec, ReplicaDemand replicas, const Runtime& runtime);

 private:
  Attempt attempt(TimePoint until, Control& control) override;
  Result<LockState> describe(Control& control) override;
  void give_up() override;
  ScriptStore& held_in() override { return store_; }
  Connection* connection() const override { return deployment_->current(store_.names().beside.key); }
  std::string wake_channel() const override;
  bool has_own_channel() const override { return false; }
  bool is_sharded() const override { return store_.names().sharded; }
  std::optional<TimePoint> next_look(Control& control) override;
  std::optional<bool> is_still_ours(TimePoint until) override;
  const char* taken_away() const override { return "it expired, was force-unlocked or deleted on "; }

  RedissonAsk make_ask() const;
  Attempt look(TimePoint until, Control& control);
  Duration interval() const;

  RedissonStore store_;
  std::string info_;
  ScriptBusy by_;  ///< the answer to the last attempt that was not granted
};

/// One lock of Redisson's, for its keeper. Unsupported if its kind cannot do what `spec` asks.
Result<std::unique_ptr<LockDriver>> keep_redisson_lock(const BackendUrl& url, const LockSpec& spec,
                                                       const Runtime& runtime);

}  // namespace dlock::redis
