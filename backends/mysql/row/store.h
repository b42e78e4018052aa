// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backends/mysql/connection/servers.h"
#include "backends/mysql/connection/settings.h"
#include "lib/base/result.h"
#include "lib/base/runtime.h"
#include "lib/keeper/polled_lock.h"
#include "lib/row_lock/record.h"

namespace dlock::mysql {

/// The two ways to lock that people write by hand, on tables of their own, so that other programs can take part:
///   unique: INSERT takes (the primary key is the judge), DELETE frees
///   occupy: SELECT state, version; UPDATE ... SET state=taken, version=version+1 WHERE version=what was read
/// and adds what such code usually lacks: leases that end by the server's clock, an owner that release and renewal
/// compare, tokens. Rows of other programs (owner NULL) are held until these free them. One statement for each call, in
/// autocommit mode. Errors as of .run(); Unavailable after a change: its outcome is unknown. Single-threaded.
class RowStore {
 public:
  struct Holder {
    std::string owner;  ///< empty: another program's
    std::uint64_t token = 0;
    std::optional<StoreTime> since;
    std::optional<StoreTime> until;  ///< nullopt: no end
    std::string who;
    int entries = 1;  ///< how many are inside (an older dlock's re-entry)
  };
  struct State {
    std::optional<Holder> holder;
    StoreTime now = 0;
    bool read_only = false;  ///< the server refuses changes
    bool has_row = false;
    std::uint64_t version = 0;  ///< of the row
    std::uint64_t token = 0;    ///< the last one (occupy)
  };

  /// `servers` outlives it.
  RowStore(const Settings& settings, Servers& servers);

  Result<State> read_state(const LockName& name, TimePoint until, Control* control);
  /// The same for people, with its times on our clock. `remaining` (may be null): of the lease, if it ends.
  Result<LockState> look(const LockName& name, const std::string& store, TimePoint until, Control* control,
                         std::optional<Duration>* remaining = nullptr);

  /// Takes the lock if it is free or the lease of its holder is over. Returns the token; nullopt: it is held.
  Result<std::optional<std::uint64_t>> take(const LockName& name, const std::string& owner, const std::string& who,
                                            Duration ttl, TimePoint until, Control* control);

  /// Whether the last take() found the row locked by an unfinished transaction of another client: who holds is not
  /// visible yet.
  bool is_row_locked() const { return row_locked_; }

  /// Renews the lease for `ttl` from now, but does not shorten it unless `exact`, and then notes `ran` (LeaveSpec).
  /// False: `owner` does not hold the lock.
  Result<bool> renew(const LockName& name, const std::string& owner, Duration ttl, bool exact, const std::string& ran,
                     TimePoint until, Control* control);

  /// Author of a revocation, as the last renew() has seen; empty: none.
  const std::string& revoked() const { return revoked_; }
  /// Writes there who asks; what was asked first stays. False: `owner` does not hold the lock with `token`.
  Result<bool> ask_back(const LockName& name, const std::string& owner, std::uint64_t token, const std::string& by,
                        TimePoint until);

  /// Removes the entry of `owner` from its hold, which ends with its last entry: an older dlock may be inside. False:
  /// it was not inside.
  Result<bool> release_entry(const LockName& name, const std::string& owner, TimePoint until);

  /// Ends the hold of `owner`, even if others are inside. False: there is none (with `token`, if that is given).
  Result<bool> release(const LockName& name, const std::string& owner, std::optional<std::uint64_t> token,
                       TimePoint until, Control* control);
  /// The same of a lease that nobody keeps. False: it is over, too.
  Result<bool> release_lease(const LockName& name, const std::string& owner, TimePoint until);

  /// Frees a row that another program holds. False: it is not held, or it has an owner now.
  Result<bool> release_foreign(const LockName& name, TimePoint until);

  Result<std::vector<LockName>> names(TimePoint until);  ///< of the locks that are held, or whose lease has ended
  Result<std::vector<LockName>> over(TimePoint until);   ///< whose lease has ended and that were not taken since
  /// Frees the row of a lock whose lease has ended. False: there is none.
  Result<bool> sweep(const LockName& name, TimePoint until);
  Result<std::vector<LockName>> free_slots(TimePoint until);  ///< rows of slots that are not remembered (occupy)
  Result<bool> remove_free(const LockName& name, TimePoint until);

 private:
  std::string where(const LockName& name) const;
  std::string named(std::string_view statement) const;
  Result<void> check_table(const LockName& name, TimePoint until, Control* control);
  std::string inserting(const LockName& name, const std::string& fields) const;
  std::string freeing(const LockName& name, const std::string& condition) const;
  Result<bool> change(const std::string& statement, TimePoint until, Control* control);
  Result<bool> try_change(const std::string& statement, TimePoint until, Control* control);
  Result<std::optional<std::uint64_t>> insert(const LockName& name, const std::string& fields, const std::string& owner,
                                              TimePoint until, Control* control);
  Result<std::uint64_t> draw_token(const LockName& name, TimePoint until, Control* control);
  Result<std::vector<LockName>> names_where(const std::string& condition, TimePoint until);

  const Strategy strategy_;
  const RowTable table_;
  const std::map<std::string, std::string, std::less<>> names_;
  bool checked_ = false;
  Servers& servers_;
  bool row_locked_ = false;
  std::string revoked_;
};

/// The row as read between `asked` and `answered`, with its times on our clock.
LockState row_state(const RowStore::State& reading, const LockName& name, const std::string& store, WallTime asked,
                    WallTime answered);

/// A lock of strategy=unique or occupy, for PolledLock: waiters ask again and again, because the server does not
/// announce when such a lock becomes free.
std::unique_ptr<PollableLock> row_lock(Settings settings, const Dial& dial, const LockSpec& spec,
                                       const Runtime& runtime);

}  // namespace dlock::mysql
