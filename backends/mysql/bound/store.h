// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "backends/mysql/connection/servers.h"
#include "backends/mysql/connection/settings.h"
#include "backends/mysql/lease/store.h"
#include "lib/base/result.h"

namespace dlock::mysql {

/// What a connection itself can hold, and what ends with it: a named lock (strategy=session) or a row that is locked in
/// an open transaction (strategy=row). Other programs that do the same exclude us and we them.
class BoundStore {
 public:
  enum class Got { kYes, kNo };

  BoundStore(const Settings& settings, const LockName& name, Clock& clock);

  /// Makes a new connection fit: what must be there is there (Misconfigured otherwise: a missing row of the user's, a
  /// column without an index, a table without transactions), and the server ends a wait after `wait_seconds`.
  Result<void> prepare(Database& database, const std::string& server, int wait_seconds, TimePoint until,
                       Control* control);

  /// Takes it if it is free. After an error nothing is held but by a connection that must be dropped.
  Result<Got> try_it(Database& database, const std::string& server, TimePoint until, Control* control);

  /// Begins to wait in the queue of the server. REQUIRES: nothing is held.
  Result<void> begin_wait(Database& database, const std::string& server, const WaitingNote& note, int seconds,
                          TimePoint until, Control* control);
  /// What the outcome of the wait means. kNo: the time is over, or the wait was ended.
  Result<Got> waited(Database& database, const std::string& server, const Outcome& outcome, TimePoint until);

  /// Lets go of it. The connection can be used for other things afterwards. What was written in the transaction that
  /// holds a row is undone, or kept.
  Result<void> let_go(Database& database, const std::string& server, TimePoint until);
  Result<void> give_back(Database& database, const std::string& server, TimePoint until);

  /// The session that has it: its id; 0: nobody; nullopt: somebody, but the server does not tell who.
  Result<std::optional<std::uint64_t>> holder(Servers& servers, TimePoint until);

  /// strategy=row: the query that locks the row, and waits while somebody else has locked it.
  std::string row_query() const;

 private:
  Result<Answer> say(Database& database, const std::string& server, const std::string& statement, TimePoint until,
                     Control* control);
  Result<void> check_user_row(Database& database, const std::string& server, TimePoint until, Control* control);
  Result<void> make_own_row(Database& database, const std::string& server, TimePoint until, Control* control);
  Result<Got> judge(Database& database, const std::string& server, const Outcome& outcome, TimePoint until);

  const Strategy strategy_;
  const LockName name_;
  const std::optional<UserRow> row_;
  Clock& clock_;
  const std::string lock_;   ///< the named lock, as an SQL expression
  const std::string where_;  ///< "table WHERE column=value"
};

}  // namespace dlock::mysql
