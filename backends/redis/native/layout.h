// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "backends/redis/deployment/layout.h"
#include "backends/redis/deployment/names.h"
#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/keeper/lock_driver.h"
#include "lib/lock/lock_admin.h"
#include "lib/lock/lock_spec.h"

namespace dlock::redis {

/// One attempt to take a lock.
struct NativeAsk {
  Owner owner;
  Mode mode = Mode::kExclusive;
  Duration ttl{0};
  Duration lock_delay{0};
  int permits = 0;
  bool fair = false;
  bool take = true;
  bool enqueue = false;                 ///< wait in the queue if it is busy
  bool polls = false;                   ///< this waiter gets no messages; it asks again and again
  std::string arrival;                  ///< its place in the queue from an earlier attempt, or empty
  Duration alive{0};                    ///< a waiter that does not ask again for so long is missed
  std::string info;                     ///< who_text()
  std::vector<std::string> slots = {};  ///< names for the permits; empty: numbers
};

/// One lock in the native layout: each call is one script, with the errors of Layout. Single-threaded.
class NativeLayout final : public Layout {
 public:
  NativeLayout(Deployment& deployment, LockName name, NativeNames names, std::string store, ReplicaDemand replicas,
               Clock& clock)
      : Layout(deployment, std::move(names), std::move(name), std::move(store), replicas, clock) {}

  const NativeNames& names() const { return beside_; }

  /// Tries once. Unavailable also if the lock was granted but too few replicas have confirmed it: the caller then
  /// releases it.
  Result<AttemptAnswer> acquire(const NativeAsk& ask, TimePoint until, Control* control);
  Result<FencingToken> renew(const Owner& owner, Duration ttl, bool exact, const std::string& ran, TimePoint until,
                             Control* control) override;
  Result<void> release(const Owner& owner, const Owner* entry, TimePoint until) override;
  Result<void> force(const LockState& shown, TimePoint until) override;
  Result<void> revoke(const LockState& shown, const std::string& by, TimePoint until) override;
  Command state_command() const override;
  Result<LockState> read_state(TimePoint until, Control* control) override;

 private:
  // While a slot moves the keys of a lock may be in two places, in any order. Then each step asks for one key alone,
  // and the lock's own one decides; what is missing beside it says nothing.
  Result<FencingToken> renew_split(const Owner& owner, Duration ttl, bool exact, const std::string& ran,
                                   TimePoint until, Control* control);
  Result<Answer> renew_keys(const Owner& owner, Duration ttl, bool exact, Duration delay, TimePoint until,
                            Control* control);
  Result<void> release_split(const Owner& owner, TimePoint until);
  Result<LockState> read_split(TimePoint until, Control* control);
  Error lost(const Answer& answer) const;

  Result<LockState> understood(const Answer& parts, WallTime asked) override;
  Command command_of(const char* script, std::size_t keys, std::vector<std::string> arguments) const;
  const std::vector<Command>& renewal_of(const Owner& owner, Duration ttl, bool exact, const std::string& ran);

  struct Renewal {
    Owner owner;
    Duration ttl;
    bool exact;
    bool several;
    std::vector<Command> request;
  };

  bool several_ = false;            ///< whether the last known hold has other holders beside it
  Duration delay_{0};               ///< the lock-delay that was asked for last
  std::optional<Renewal> renewal_;  ///< the last request to renew, kept because a holder repeats it
};

/// One lock in the native layout, for its keeper.
Result<std::unique_ptr<LockDriver>> keep_native_lock(const BackendUrl& url, const LockSpec& spec,
                                                     const Runtime& runtime);

/// The native layout for commands that supervise nothing. Misconfigured for a URL that cannot be served; asks no server
/// yet.
Result<std::unique_ptr<LockAdmin>> make_native_admin(const BackendUrl& url, const Runtime& runtime);

}  // namespace dlock::redis
