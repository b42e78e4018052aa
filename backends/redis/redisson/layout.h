// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "backends/redis/deployment/layout.h"
#include "backends/redis/redisson/rules.h"
#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/keeper/lock_driver.h"
#include "lib/lock/lock_admin.h"
#include "lib/lock/lock_spec.h"

namespace dlock::redis {

/// One attempt to take a lock in Redisson's layout.
struct RedissonAsk {
  Owner owner;  ///< names this acquisition, too: repeated after a lost answer, it gets the lock once
  Mode mode = Mode::kExclusive;
  Duration ttl{0};
  bool enqueue = false;  ///< of a fair lock: take a place in its queue, or keep it alive
  std::string info;      ///< who_text()
};

/// One object of Redisson on one deployment: each call is one script, which has the same effect on Redisson's keys and
/// channels as Redisson's own script. Errors as of Layout. Single-threaded.
class RedissonLayout final : public Layout {
 public:
  RedissonLayout(Deployment& deployment, RedissonKind kind, LockName name, RedissonNames names, std::string store,
                 ReplicaDemand replicas, Clock& clock)
      : Layout(deployment, names.beside, std::move(name), std::move(store), replicas, clock),
        kind_(kind),
        names_(std::move(names)) {}

  RedissonKind kind() const { return kind_; }
  const RedissonNames& names() const { return names_; }

  /// Tries once. Unavailable also if the lock was granted but too few replicas have confirmed it: the caller then
  /// releases it. Misconfigured if the keys have data that Redisson cannot have written; then nothing was changed.
  Result<AttemptAnswer> acquire(const RedissonAsk& ask, TimePoint until, Control* control);
  Result<FencingToken> renew(const Owner& owner, Duration ttl, bool exact, const std::string& ran, TimePoint until,
                             Control* control) override;
  Result<void> release(const Owner& owner, const Owner* entry, TimePoint until) override;
  /// As Redisson's forceUnlock.
  Result<void> force(const LockState& shown, TimePoint until) override;
  Command state_command() const override;
  WallTime read_at() const { return read_at_; }  ///< when the last read_state() was answered, by the clock of its times
  /// Deletes all keys of a lock that no other client knows (that of ping()): the object itself and its counters.
  void erase(TimePoint until);

 private:
  std::string holder_of(const Owner& owner) const override { return redisson_field(owner); }
  Result<LockState> understood(const Answer& parts, WallTime asked) override;
  Result<void> skip(const LockState& shown, TimePoint until);
  /// As NativeLayout does it while the keys are in two places.
  Result<Answer> renew_split(const Owner& owner, Duration ttl, bool exact, const std::string& ran, TimePoint until,
                             Control* control);
  Result<Answer> keep_reads(std::int64_t count, const Owner& owner, Duration ttl, bool exact, TimePoint until,
                            Control* control);
  std::string read_key(const std::string& field, std::int64_t number) const;
  Command command_of(const char* script, const std::string& me, std::vector<std::string> arguments) const;

  RedissonKind kind_;
  RedissonNames names_;
  WallTime read_at_{};
};

/// One lock of Redisson's, for its keeper. Unsupported if its kind cannot do what `spec` asks.
Result<std::unique_ptr<LockDriver>> keep_redisson_lock(const BackendUrl& url, const LockSpec& spec,
                                                       const Runtime& runtime);

/// Misconfigured for a URL that cannot be served; asks no server yet.
Result<std::unique_ptr<LockAdmin>> make_redisson_admin(const BackendUrl& url, const Runtime& runtime);

}  // namespace dlock::redis
