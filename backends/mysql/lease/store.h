// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/mysql/connection/servers.h"
#include "backends/mysql/connection/settings.h"
#include "backends/mysql/lease/rules.h"
#include "lib/base/result.h"

namespace dlock::mysql {

/// A waiter, told in the text of the statement in which it waits (a comment): the process list of the server is the
/// queue.
struct WaitingNote {
  std::string owner;
  Mode mode = Mode::kExclusive;
  ServerTime since = 0;
  std::string who;
  bool takes = true;  ///< false: wants to know when the lock is free, and is nobody's rival: not shown
};

/// One reading of a row.
struct LeaseReading {
  LeaseRow row;
  ServerTime now = 0;            ///< when the server read it
  std::uint64_t connection = 0;  ///< the server's id of ours
  TimePoint sent;                ///< before it was asked
  std::optional<bool> gate;      ///< asked for the gate: got it, or not
};

enum class Written { kYes, kNo };  ///< kNo: somebody else changed the row meanwhile

/// The row of one lock in the table dlock_lock, and its gate: a named lock that the exclusive holder keeps while it
/// lives, and whoever is next in the queue takes. The row alone decides. Statements are one-row, by primary key, in
/// autocommit mode. Errors: Unavailable (after a change: its outcome is not known), Denied, Misconfigured (tables
/// missing), Cancelled. Single-threaded.
class LeaseStore {
 public:
  /// kAny: for who only looks, at a server that is read-only as well.
  enum class From { kWritable, kAny };

  LeaseStore(Servers& servers, Clock& clock, Strategy strategy, const LockName& name, From from = From::kWritable);

  /// Reads the row. `with_gate`: takes the gate in the same statement if it is free.
  Result<LeaseReading> read(bool with_gate, TimePoint until, Control* control);

  /// Takes the row for who asks, if it is there and nobody holds it, and then reads it: whether it is ours stands
  /// there. One round trip. `wants_gate`: the row only with the gate, which it takes if it has it not and it is free.
  Result<LeaseReading> take(const LeaseAsk& ask, bool wants_gate, TimePoint until, Control* control);

  /// What takes it and reads nothing, to begin on a connection that has the gate; and the row, if by this answer it is
  /// ours. Nothing is known of a row that is not.
  std::string take_statement(const LeaseAsk& ask) const;
  static std::optional<LeaseReading> taken(const Answer& answer, const LeaseAsk& ask, TimePoint sent);

  /// Puts `next` where `read` was, if it still is there. After a deadlock or a lock wait that the server ended, again.
  Result<Written> change(const LeaseRow& read, LeaseRow& next, TimePoint until, Control* control);

  /// The same, and leaves the gate with it: who is next is woken before the change is committed, and waits for that.
  Result<Written> change_and_leave(const LeaseRow& read, LeaseRow& next, TimePoint until);

  /// The holder of a row that has no other, and is as `row`, has `ttl` from now on; in one statement. kNo: its time is
  /// over, or the row is another one.
  Result<Written> extend(LeaseRow& row, Duration ttl, TimePoint until, Control* control);

  /// What to begin on the connection to wait in the queue for `seconds` at most: one row, one column: 1 = it is ours.
  std::string wait_statement(const WaitingNote& note, int seconds) const;

  Result<void> leave_gate(TimePoint until, Control* control);

  /// The last of these calls sent something that was not answered: it may have been done.
  bool unanswered() const { return unanswered_; }

  bool has_gate() const { return servers_.current() != nullptr && gate_ == servers_.generation(); }
  void gate_taken() { gate_ = servers_.generation(); }
  /// The server refuses named locks.
  bool without_gates() const { return without_gates_; }
  void gates_refused() { without_gates_ = true; }

  /// Who waits, as far as this account may see, first come first.
  static Result<std::vector<Participant>> waiters(Database& database, Clock& clock, Strategy strategy,
                                                  const LockName& name, const std::string& server, TimePoint until,
                                                  Control* control);

  /// What is in the row, read through `database`.
  Result<LeaseReading> read_through(Database& database, bool with_gate, TimePoint until, Control* control);

 private:
  std::string read_statement(const std::string& gate) const;
  /// `holds`: an expression for how many they are.
  std::string change_statement(const LeaseRow& read, LeaseRow& next, const std::string& holds) const;
  /// A statement, again after a deadlock or a lock wait that the server ended.
  Result<Answer> insist(const std::string& statement, TimePoint until, Control* control);
  Result<LeaseReading> understood(const Answer& answer, TimePoint sent);
  Error failed(const Failure& failure);

  Servers& servers_;
  Clock& clock_;
  const Strategy strategy_;
  const LockName name_;
  const std::string key_;        ///< "strategy=x'..' AND name=x'..'"
  const std::string gate_name_;  ///< an SQL expression
  const From from_;
  int gate_ = -1;  ///< the connection that has it
  bool without_gates_ = false;
  bool unanswered_ = false;
};

/// The name of a named lock, as an SQL expression: within 64 ASCII characters, of this database, one for each
/// (kind, name).
std::string named_lock(std::string_view kind, const LockName& name);

/// "SELECT /* dlock waits ... */ ": the beginning of a statement that waits, which tells who waits for what.
std::string waiting_comment(Strategy strategy, const LockName& name, const WaitingNote& note);

}  // namespace dlock::mysql
