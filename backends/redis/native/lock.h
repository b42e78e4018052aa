// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backends/redis/deployment/script_lock.h"
#include "backends/redis/native/store.h"

namespace dlock::redis {

/// One lock in the native layout. Each waiter gets a message on its own channel when its turn has come; the first in
/// the queue, and every waiter while another client's lock is at the key, also hears of changes of the key; a timer on
/// the remaining lease covers changes without a message. The holder of an exclusive lock hears of changes of its key
/// (revoke, force-release, an operator's DEL); a reader and the holder of a permit get a message on their own channel
/// (revoke, force-release).
class NativeLock final : public ScriptLock {
 public:
  NativeLock(std::unique_ptr<Deployment> deployment, NativeNames names, std::string store, LockSpec spec,
             ReplicaDemand replicas, const Runtime& runtime);

 private:
  Attempt attempt(TimePoint until, Control& control) override;
  Result<LockState> describe(Control& control) override;
  void give_up() override;
  ScriptStore& held_in() override { return store_; }
  Connection* connection() const override { return deployment_->current(store_.names().key); }
  std::string wake_channel() const override { return store_.names().wake + spec_.owner.text(); }
  bool has_own_channel() const override { return true; }
  std::optional<bool> is_still_ours(TimePoint until) override;
  const char* taken_away() const override { return "it expired or was deleted on "; }

  NativeAsk make_ask() const;
  Attempt granted(const ScriptGrant& grant);
  std::optional<TimePoint> next_look(Control& control) override;
  std::optional<bool> is_still_listed(TimePoint until);
  std::optional<Reply> watch_key(bool all_reads, TimePoint until, Control* control);
  Duration interval() const;

  NativeStore store_;
  std::string info_;
  bool mute_ = false;             ///< no message comes, whoever listens
  std::optional<ScriptBusy> by_;  ///< the answer to the last attempt that was not granted
};

}  // namespace dlock::redis
