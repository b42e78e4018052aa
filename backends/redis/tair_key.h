// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/redis/server_group.h"
#include "lib/base/result.h"
#include "lib/base/time.h"
#include "lib/lock/fencing_token.h"
#include "lib/lock/holder.h"
#include "lib/lock/lock_name.h"

namespace dlock::redis {

/// How a lock lies on a Tair server: a string changed by CAS and CAD, or a versioned string changed by EXCAS and EXCAD.
enum class TairMode { kCas, kEx };

/// What a Tair server says about one key.
struct TairLook {
  enum class State { kOurs, kFree, kOthers, kOtherKind };
  State state = State::kFree;
  std::string holder;
  std::optional<Duration> remaining;  ///< nullopt: no key, or no end
  std::uint64_t counter = 0;          ///< of the tokens; only a holder moves it
  std::int64_t version = 0;           ///< with kEx
  bool fresh = false;                 ///< take() has just made it ours; false: it was before
};

/// The answer to a compare-and-something.
enum class TairSwap { kDone, kGone, kOthers };

/// The commands of one lock on one Tair server. Every call is one round trip, bounded by `until`; Unavailable: the
/// outcome is unknown. Never KEEPTTL, never without a TTL, never VER (a missing key ignores it).
class TairKey {
 public:
  TairKey(ServerGroup& server, LockName name, TairMode mode);

  /// Takes the key if it is free, and looks whose it is now; if it is `owner`'s, draws a token from the counter
  /// "dlock:{KEY}:fence": max(counter + 1, server time in us). The draw comes after the grant and in the same write, so
  /// whoever sees its result within the lease drew while holding. `start` is the version of a new key (kEx).
  /// Unsupported if the server is no Tair.
  Result<TairLook> take(const std::string& owner, std::int64_t start, Duration ttl, TimePoint until, Control* control);

  /// Changes nothing.
  Result<TairLook> look(const std::string& owner, TimePoint until, Control* control);

  /// Makes the lease ttl long from now if it is still owner's, at `version` (kEx), which becomes the new one.
  Result<TairSwap> keep(const std::string& owner, std::int64_t& version, Duration ttl, TimePoint until,
                        Control* control);

  /// Deletes it if it is still owner's, at `version` (kEx).
  Result<TairSwap> remove(const std::string& owner, std::int64_t version, TimePoint until);

  const LockName& name() const { return name_; }
  LockState state(const TairLook& look, const std::string& store, WallTime now) const;

 private:
  Result<std::vector<Reply>> call(std::vector<Command> commands, TimePoint until, Control* control);
  Command look_command(const std::string& owner, bool draw) const;

  ServerGroup& server_;
  const LockName name_;
  const TairMode mode_;
  int probed_ = 0;  ///< the connection on which the server has been found to be a Tair
};

/// A random version to start from: 1 to 2^52. A lock that is taken after ours has ended then has another version, which
/// our late EXCAS or EXCAD does not hit (counting from 1 it would: seen).
std::int64_t random_start();

}  // namespace dlock::redis
