// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/mysql/connection/servers.h"
#include "backends/mysql/lease/store.h"
#include "lib/base/result.h"

namespace dlock::mysql {

/// A hold that lives with its connection, and those that have entered it (re-entry). Its record tells who is inside:
/// whose connection it is by the owner, the others by owner and the server's id of a connection of their own, which is
/// there as long as they live. Whoever comes or goes writes the record at the version that was read, so nobody goes
/// without having seen who is there. Errors are those of LeaseStore.
class BoundEntries {
 public:
  /// The hold of `owner` with `token`. `servers`, not the connection that holds, and `clock` outlive it.
  BoundEntries(Servers& servers, Clock& clock, Strategy strategy, const LockName& name, std::string owner,
               std::uint64_t token);

  /// `entry` is inside, as long as the present connection of `servers` lives. False: the hold is over.
  Result<bool> enter(const std::string& entry, TimePoint until, Control* control);

  enum class Left { kOthersStay, kLast, kGone };
  /// kLast: the record is gone with it, and whose connection it is holds it for nobody. kGone: it was not inside.
  Result<Left> leave(const std::string& entry, TimePoint until);

  /// Whose connection it is goes. True: others are inside and live. False: nobody, and the record is gone.
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
