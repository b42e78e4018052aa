// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/mysql/connection/servers.h"
#include "backends/mysql/lease/store.h"
#include "lib/base/result.h"

namespace dlock::mysql {

/// A hold that ends with its connection, and the entries of those that have entered it (re-entry). Its record names
/// them: the outer one, whose connection it is, by its owner; an inner one by its owner and the server's id of a
/// connection of its own, which exists as long as it lives. Entering and leaving write the record at the version that
/// was read, so nobody leaves without having seen who is inside. Errors are those of LeaseStore. Not thread-safe.
class BoundEntries {
 public:
  /// The hold of `owner` with `token`. `servers`, not the connection that holds, and `clock` outlive it.
  BoundEntries(Servers& servers, Clock& clock, Strategy strategy, const LockName& name, std::string owner,
               std::uint64_t token);

  /// Adds `entry`, which counts as long as the present connection of `servers` lives. False: the hold is over.
  Result<bool> enter(const std::string& entry, TimePoint until, Control* control);

  enum class Left { kOthersStay, kLast, kGone };
  /// Removes `entry`. kLast: the record is removed too; the outer connection holds the lock for nobody, and is to be
  /// ended. kGone: it was not inside.
  Result<Left> leave(const std::string& entry, TimePoint until);

  /// Removes the outer one. True: others are inside and live, so the connection has to stay. False: nobody is, and the
  /// record is removed, unless the server refuses changes. An error: not known, so the connection has to stay, too.
  Result<bool> end(TimePoint until);

 private:
  LeaseHolder* find(LeaseRow& row) const;
  Result<void> forget_dead(LeaseHolder& holder, TimePoint until);

  Servers& servers_;
  Clock& clock_;
  LeaseStore record_;
  const std::string owner_;
  const std::uint64_t token_;
};

}  // namespace dlock::mysql
