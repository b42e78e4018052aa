// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "backends/mysql/connection/process_list.h"
#include "backends/mysql/connection/servers.h"
#include "backends/mysql/connection/settings.h"
#include "lib/base/result.h"

namespace dlock::mysql {

/// The lock that a connection itself holds and that ends with it: a named lock (strategy=session) or a row locked in an
/// open transaction (strategy=row). Other programs that take the same named lock or row exclude us, and we them.
/// All is done in the present connection of `servers`, which is there. Errors as of error_of(). Not thread-safe.
class BoundStore {
 public:
  enum class Got { kYes, kNo };

  BoundStore(const Settings& settings, const LockName& name, Servers& servers);

  /// Prepares a new connection: checks what the lock needs (Misconfigured: the user's row is missing, its column has no
  /// index, the table has no transactions), and lets the server end a wait after `wait_seconds`.
  Result<void> prepare(int wait_seconds, TimePoint until, Control* control);

  /// Takes the lock if it is free. After an error, the connection may hold the lock and must be dropped.
  Result<Got> try_it(TimePoint until, Control* control);

  /// Begins to wait in the queue of the server. REQUIRES: nothing is held.
  Result<void> begin_wait(const WaitingNote& note, int seconds, TimePoint until, Control* control);
  /// Meaning of the outcome of that wait. kNo: its time is over, or the server has ended it.
  Result<Got> waited(const AnswerOrFailure& outcome, TimePoint until);

  /// Releases the lock; the connection stays usable.
  Result<void> release(TimePoint until);

  /// The server's id of the session that holds the lock; 0: none does; nullopt: one does, but the server does not say
  /// which. Connects if need be.
  Result<std::optional<std::uint64_t>> holder(TimePoint until);

 private:
  AnswerOrFailure ask(const std::string& statement, TimePoint until, Control* control);
  Result<Answer> say(const std::string& statement, TimePoint until, Control* control);
  Result<void> check_user_row(TimePoint until, Control* control);
  Result<void> make_own_row(TimePoint until, Control* control);
  std::string row_query() const;

  const Strategy strategy_;
  const LockName name_;
  const std::optional<UserRow> row_;
  Servers& servers_;
  const std::string lock_;   ///< the named lock, as an SQL expression
  const std::string where_;  ///< "table WHERE column=value"
};

/// Of a lock on one of several primaries (Galera, Group Replication), of which the others do not see what a connection
/// holds.
Error of_one_node(const std::string& server, Strategy strategy);

/// Of a lease without a process, which such a strategy cannot have.
Error lives_with_its_connection(Strategy strategy);

}  // namespace dlock::mysql
