// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/mysql/connection/servers.h"
#include "backends/mysql/connection/settings.h"
#include "backends/mysql/lease/record.h"
#include "backends/mysql/lease/rules.h"
#include "lib/base/result.h"

namespace dlock::mysql {

/// A waiter describes itself in a comment in the statement by which it waits, so that the server's process list shows
/// the queue.
struct WaitingNote {
  std::string owner;
  Mode mode = Mode::kExclusive;
  ServerTime since = 0;
  std::string who;
  bool takes = true;  ///< false: only wants to know when the lock is free (`dlock wait`); not shown as a waiter
};

/// "SELECT /* dlock waits ... */ ": the beginning of a waiting statement, which names the waiter and the lock.
std::string waiting_comment(Strategy strategy, const LockName& name, const WaitingNote& note);

/// The waiters of a lock that this account may see in the process list, in the order in which they came.
Result<std::vector<Participant>> waiters_of(Servers& servers, Strategy strategy, const LockName& name, TimePoint until,
                                            Control* control);
/// Those of all locks of `strategy`, by the names of these.
using Waiters = std::map<std::string, std::vector<Participant>>;
Result<Waiters> all_waiters(Servers& servers, Strategy strategy, TimePoint until);

/// The names in dlock_lock for which `condition` holds, in canonical order.
Result<std::vector<LockName>> names_where(Servers& servers, Strategy strategy, const std::string& condition,
                                          TimePoint until);
/// Those that have a holder or a waiter.
Result<std::vector<LockName>> live_names(Servers& servers, Strategy strategy, TimePoint until);

/// One reading of a row.
struct LeaseReading {
  LeaseRow row;
  ServerTime now = 0;            ///< when the server read it
  std::uint64_t connection = 0;  ///< the server's id of ours
  TimePoint sent;                ///< before it was asked
  std::optional<bool> gate;      ///< whether the gate was got; nullopt: not asked for
  bool galera = false;           ///< the server is a node of a Galera cluster; not known of a row that was just taken
};

enum class Written { kYes, kNo };  ///< kNo: another has changed the row since

/// The row of one lock in the table dlock_lock, and its gate: a named lock that an exclusive holder keeps while it
/// holds, and that the next in the queue then gets. The row alone decides who holds. Each statement is about one row,
/// by primary key, in autocommit mode. Errors: Unavailable (after a change: its outcome is not known), Denied,
/// Misconfigured (tables missing), Cancelled. Single-threaded.
class LeaseStore {
 public:
  /// kAny: for reading only; a server that is read-only will do.
  enum class From { kWritable, kAny };

  /// `servers` outlives it.
  LeaseStore(Servers& servers, Strategy strategy, const LockName& name, From from = From::kWritable);

  /// Reads the row. `with_gate`: takes the gate in the same statement if it is free.
  Result<LeaseReading> read(bool with_gate, TimePoint until, Control* control);

  /// Takes the row for `ask.owner` if the row exists and is free, and reads it in the same round trip: the
  /// reading says who holds now. `wants_gate`: takes the row only together with the gate, unless this has the gate
  /// already.
  Result<LeaseReading> take(const LeaseAsk& ask, bool wants_gate, TimePoint until, Control* control);

  /// The statement of take() alone, without reading, for a connection that has the gate.
  std::string take_statement(const LeaseAsk& ask) const;
  /// The row after that statement, from its answer. nullopt: it was not taken; who holds is not known.
  static std::optional<LeaseReading> taken(const Answer& answer, const LeaseAsk& ask, TimePoint sent);

  /// Replaces the row by `next` (whose version it sets) if it is still as in `read`. Repeats after a deadlock or a lock
  /// wait that the server ended.
  Result<Written> change(const LeaseRow& read, LeaseRow& next, TimePoint until, Control* control);

  /// The same, and leaves the gate in the same statement: the next in the queue is woken before the change is
  /// committed, and waits for the row until it is.
  Result<Written> change_and_release_gate(const LeaseRow& read, LeaseRow& next, TimePoint until);

  /// A row as it was read, and the one that has taken its place.
  struct Rewritten {
    LeaseRow before;
    LeaseRow after;
    ServerTime now = 0;  ///< of the reading
  };
  using Rewrite = std::function<std::optional<LeaseRow>(const LeaseRow& row, ServerTime now)>;
  /// Reads the row and replaces it by the one that `make` returns; starts over if the row has changed in between, or if
  /// an answer was lost, which sets *unanswered. nullopt if `make` returns nullopt.
  Result<std::optional<Rewritten>> rewrite(const Rewrite& make, TimePoint until, bool* unanswered = nullptr,
                                           Control* control = nullptr);

  /// Renews the only holder of `row` for `ttl` from now, in one statement, and updates `row`. kNo: the lease is over,
  /// or the row in the table is no longer as `row`.
  Result<Written> extend(LeaseRow& row, Duration ttl, TimePoint until, Control* control);

  /// The statement that waits for the gate, for at most `seconds`. Its answer is one field: 1 if the gate is ours.
  std::string wait_statement(const WaitingNote& note, int seconds) const;

  Result<void> release_gate(TimePoint until, Control* control);

  /// Whether the last call sent a change that was not answered: it may have been carried out.
  bool unanswered() const { return unanswered_; }

  /// Whether the present connection has the gate.
  bool has_gate() const { return servers_.current() != nullptr && gate_ == servers_.generation(); }
  void gate_taken() { gate_ = servers_.generation(); }
  /// The server refuses named locks, or keeps them from the other nodes of its cluster. Then the gate is the place at
  /// the head of the poll queue, and `LeaseReading::gate` says whether `queue()`'s owner has it.
  bool without_gates() const { return without_gates_; }
  void gates_refused() { without_gates_ = true; }

  /// Says in the poll queue that `note.owner` waits; the entry ends by itself after `alive`. Repeats only what changes
  /// nothing for the others: their order is that of `note.since`.
  Result<void> queue(const WaitingNote& note, Duration alive, TimePoint until, Control* control);
  Result<void> withdraw(const std::string& owner, TimePoint until);

  /// The rows of these locks, as far as they are there, by their names; Misconfigured for one that makes no sense.
  static Result<std::map<std::string, Result<LeaseReading>>> read_some(Servers& servers, Strategy strategy,
                                                                       std::span<const LockName> names,
                                                                       TimePoint until);

  /// The waiters in the poll queue, on every node, in order.
  Result<std::vector<Participant>> queued(TimePoint until);

 private:
  std::string read_statement(const std::string& gate) const;
  std::string gate_expression() const;
  void rest_after_race(int races, TimePoint until);
  Clock& clock() const { return servers_.clock(); }
  /// `holds`: an SQL expression for the number of holders.
  std::string change_statement(const LeaseRow& read, LeaseRow& next, const std::string& holds) const;
  /// Runs `statement`; repeats after a deadlock or a lock wait that the server ended.
  Result<Answer> insist(const std::string& statement, TimePoint until, Control* control);
  Result<LeaseReading> understood(const Answer& answer, TimePoint sent);
  Error failed(const Failure& failure);

  Servers& servers_;
  const Strategy strategy_;
  const LockName name_;
  const std::string key_;        ///< "strategy=x'..' AND name=x'..'"
  const std::string gate_name_;  ///< an SQL expression
  const From from_;
  int gate_ = -1;  ///< the connection (Servers::generation) that has the gate; -1: none
  bool without_gates_ = false;
  std::string queued_as_;  ///< the entry of the poll queue, as a condition on those before it; empty: not queued
  bool unanswered_ = false;
};

/// The name of a named lock, as an SQL expression: within 64 ASCII characters, of this database, one for each
/// (kind, name).
std::string named_lock(std::string_view kind, const LockName& name);

}  // namespace dlock::mysql
