// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "backends/mysql/connection/servers.h"
#include "backends/mysql/connection/settings.h"
#include "backends/mysql/lease/record.h"
#include "lib/base/result.h"

namespace dlock::mysql {

/// The two ways to lock that people write by hand, on tables of their own, so that other programs can take part:
///   unique: INSERT takes (the primary key is the judge), DELETE frees
///   occupy: SELECT state, version; UPDATE ... SET state=1, version=version+1 WHERE version=what was read
/// with what they usually lack: an end of each lease by the server's clock, an owner whom release and renewal compare,
/// a token. Rows of other programs (owner NULL) are held until these free them. One statement each, autocommit.
class RowStore {
 public:
  struct Holder {
    std::string owner;  ///< empty: another program's
    std::uint64_t token = 0;
    std::optional<ServerTime> since;
    std::optional<ServerTime> until;  ///< nullopt: no end
    std::string who;
    int entries = 1;  ///< how many are inside (re-entry)
  };
  struct State {
    std::optional<Holder> holder;
    ServerTime now = 0;
    bool read_only = false;  ///< the server is
    bool has_row = false;
    std::uint64_t version = 0;  ///< of the row
    std::uint64_t token = 0;    ///< the last one (occupy)
  };

  RowStore(Strategy strategy, Servers& servers, Clock& clock);

  /// Errors as of run_statement(); after a change an Unavailable one means that its outcome is not known.
  Result<State> read_state(const LockName& name, TimePoint until, Control* control);

  /// Takes it if it is free, or if the lease of who had it is over; the token, or nullopt if somebody has it.
  Result<std::optional<std::uint64_t>> take(const LockName& name, const std::string& owner, const std::string& who,
                                            Duration ttl, TimePoint until, Control* control);

  /// The last take() found the row locked by a transaction of somebody else's that is not over: nobody sees yet who
  /// will have it.
  bool is_row_locked() const { return row_locked_; }

  /// The lease ends `ttl` from now; never earlier than it did unless `exact`. False: it is not `owner`'s any more.
  Result<bool> renew(const LockName& name, const std::string& owner, Duration ttl, bool exact, TimePoint until,
                     Control* control);

  /// Enters the hold of `owner`, if it is of that token; `entry` once, however often it is asked. Makes the lease
  /// longer, never shorter. False: it is not.
  Result<bool> join(const LockName& name, const std::string& owner, std::uint64_t token, const std::string& entry,
                    Duration ttl, TimePoint until, Control* control);

  /// Without `entry`; the hold of `owner` ends with the last one. False: it was not inside.
  Result<bool> leave(const LockName& name, const std::string& owner, const std::string& entry, TimePoint until);

  /// Ends the hold whoever is inside. False: it was not `owner`'s (nor, if given, of that token).
  Result<bool> release(const LockName& name, const std::string& owner, std::optional<std::uint64_t> token,
                       TimePoint until, Control* control);

  /// Frees a row that another program has written, if it still has no owner.
  Result<bool> release_foreign(const LockName& name, TimePoint until);

  Result<std::vector<LockName>> names(TimePoint until);
  Result<std::vector<LockName>> over(TimePoint until);  ///< whose lease has ended and that nobody took since
  Result<bool> sweep(const LockName& name, TimePoint until);

 private:
  std::string where(const LockName& name) const;
  Error leave_read_only();
  std::string freeing(const LockName& name, const std::string& condition) const;
  Result<bool> change(const std::string& statement, TimePoint until, Control* control);
  Result<bool> try_change(const std::string& statement, TimePoint until, Control* control);
  Result<std::optional<std::uint64_t>> insert(const LockName& name, const std::string& fields, const std::string& owner,
                                              TimePoint until, Control* control);
  Result<std::uint64_t> draw_token(const LockName& name, TimePoint until, Control* control);
  Result<std::vector<LockName>> names_where(const std::string& condition, TimePoint until);

  const Strategy strategy_;
  const std::string table_;
  Servers& servers_;
  Clock& clock_;
  bool row_locked_ = false;
};

}  // namespace dlock::mysql
