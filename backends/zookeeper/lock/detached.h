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

/// A lock that goes on without a process: what renews and releases it. Its session lives until it has expired.
struct DetachedLease {
  LockName name;
  Owner owner;
  std::string store;  ///< redacted URL
  SessionKey key;     ///< SECRET
  FencingToken token;
  Duration lock_delay{0};
  Duration timeout{0};             ///< of its session
  std::vector<std::string> paths;  ///< of its nodes
};

/// The files of such leases: one each, readable by its user only, named by the owner. In /var/lib/dlock/zookeeper for
/// root, else in $XDG_STATE_HOME/dlock/zookeeper or ~/.local/state/dlock/zookeeper.
class LeaseFiles {
 public:
  /// Makes the folder if `make`; without, a missing one is an empty one. Misconfigured if there is no home.
  static Result<LeaseFiles> open(bool make);
  explicit LeaseFiles(std::string folder) : folder_(std::move(folder)) {}

  /// Nobody else gets lock() of it while what is returned is open.
  Result<UniqueFd> write(const DetachedLease& lease) const;

  /// Waits until nobody else has a lease's session in hand. Nothing to hold if there is no such file; Unavailable at
  /// `until`.
  Result<UniqueFd> lock(const Owner& owner, TimePoint until, Clock& clock) const;

  /// nullopt if there is none. Denied for a file that others could have written or read.
  Result<std::optional<DetachedLease>> read(const Owner& owner) const;

  void remove(const Owner& owner) const;

  /// Removes the files of leases that nobody has written again for their timeout and an hour.
  void sweep_old() const;

  std::vector<Owner> owners() const;

 private:
  std::string path_of(const Owner& owner) const;
  std::string folder_;
};

}  // namespace dlock::zookeeper
