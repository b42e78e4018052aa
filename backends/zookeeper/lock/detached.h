// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/zookeeper/session/session.h"
#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/base/unique_fd.h"
#include "lib/lock/fencing_token.h"
#include "lib/lock/lock_name.h"
#include "lib/lock/owner.h"

namespace dlock::zookeeper {

/// A lock that is held without a process, in a session that stays open: the data to renew and release it.
struct DetachedLease {
  LockName name;
  Owner owner;
  std::string store;  ///< redacted URL
  SessionKey key;     ///< SECRET
  FencingToken token;
  Duration lock_delay{0};
  Duration timeout{0};             ///< of its session, as it was asked for
  std::vector<std::string> paths;  ///< of its nodes
  TimePoint settled{};             ///< earlier than that its session must not be given another timeout
};

/// Every follower hears of a new session, and informs the leader with its answer to the next ping, half a tick later at
/// most, that the session is to last as long as it was made for. What the leader hears after that counts. Of servers
/// with the usual tick.
inline constexpr Duration kLongestHalfTick = std::chrono::milliseconds(1050);

/// The files of such leases: one for each, named after the owner, readable by its user only. In
/// /var/lib/dlock/zookeeper for root, else in $XDG_STATE_HOME/dlock/zookeeper or ~/.local/state/dlock/zookeeper.
class LeaseFiles {
 public:
  /// `make`: makes the folder if it is missing; otherwise a missing folder counts as an empty one. Misconfigured if
  /// there is no home directory.
  static Result<LeaseFiles> open(bool make);
  explicit LeaseFiles(std::string folder) : folder_(std::move(folder)) {}

  /// Whether a lease can be written, as far as that can be known before there is one: writes as much, and removes it.
  Result<void> check() const;

  /// Writes the file of `lease` and locks it: lock() waits while the returned descriptor is open.
  Result<UniqueFd> write(const DetachedLease& lease) const;

  /// Locks the file of `owner`'s lease, so that only one process at a time uses its session; waits for the others. An
  /// empty descriptor if there is no such file; Unavailable at `until`.
  Result<UniqueFd> lock(const Owner& owner, TimePoint until, Clock& clock) const;

  /// nullopt if there is none. Denied for a file that others could have written or read.
  Result<std::optional<DetachedLease>> read(const Owner& owner) const;

  void remove(const Owner& owner) const;

  /// Removes the files that were last written longer ago than their lease's timeout and an hour.
  void sweep_old() const;

  std::vector<Owner> owners() const;

 private:
  std::string path_of(const Owner& owner) const;
  std::string folder_;
};

}  // namespace dlock::zookeeper
