// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/lease/store.h"

#include <algorithm>

#include "backends/mysql/connection/database.h"
#include "backends/mysql/connection/errors.h"
#include "backends/mysql/connection/schema.h"
#include "backends/mysql/connection/sql_text.h"
#include "lib/base/random.h"
#include "lib/base/text.h"
#include "lib/keeper/insist.h"
#include "lib/lock/who_text.h"

namespace dlock::mysql {
namespace {

using namespace std::chrono_literals;

constexpr char kColumns[] = "MAX(version),MAX(fence),MAX(mode),MAX(permits),MAX(holders)";
constexpr char kGate[] = "@dlock_gate";
constexpr Duration kShortestRest = 1ms;  ///< after a lost race; then longer each time
constexpr Duration kLongestRest = 200ms;
constexpr std::size_t kFirstColumn = 4;  // after gate, time, connection and read_only

std::string key_of(Strategy strategy, const LockName& name) {
  return "strategy='" + std::string(strategy_name(strategy)) + "' AND name=" + literal(name.text());
}

Error not_understood(const std::string& server) {
  return {ErrorCode::kMisconfigured, server + " has a row in dlock_lock that dlock does not understand",
          "was it written by another version of dlock, or by another program?"};
}

std::string text_of(const std::optional<std::string>& field) { return field.value_or(""); }

/// The poll queue of a lock: a row for each waiter, named by the digest of the key and the owner, so that it is a range
/// of the primary key.
constexpr char kQueuedRows[] = "queued";
std::string queue_prefix(const LockName& name) { return "SHA2(" + literal(name.text()) + ",256)"; }
std::string queue_entry(const LockName& name, const std::string& owner) {
  return "CONCAT(" + queue_prefix(name) + ",'.'," + literal(owner) + ")";
}
std::string queue_of(const LockName& name) {
  const std::string prefix = queue_prefix(name);
  return "strategy=" + literal(kQueuedRows) + " AND name>CONCAT(" + prefix + ",'.') AND name<CONCAT(" + prefix +
         ",'/')";
}

/// Where the gate is not wanted: -1 on a node of Galera.
std::string galera_or_null() { return "IF(" + std::string(kGalera) + ",-1,NULL)"; }

std::optional<LeaseRow> row_of(const Row& fields) {
  LeaseRow row;
  if (!fields[kFirstColumn]) return row;  // none yet
  row.version = leading_number<std::uint64_t>(*fields[kFirstColumn]);
  row.fence = leading_number<std::uint64_t>(text_of(fields[kFirstColumn + 1]));
  const auto mode = mode_of_letter(text_of(fields[kFirstColumn + 2]));
  row.permits = static_cast<int>(leading_number<std::int64_t>(text_of(fields[kFirstColumn + 3])));
  auto holders = decode_holders(text_of(fields[kFirstColumn + 4]));
  if (!mode || !holders) return std::nullopt;
  row.mode = *mode;
  row.holders = std::move(*holders);
  return row;
}

/// When all of it is over by itself, for people and for gc.
std::string expires(const LeaseRow& row) {
  ServerTime last = 0;
  for (const LeaseHolder& holder : row.holders) last = std::max(last, holder.until + holder.delay);
  return last == 0 ? "NULL" : "'1970-01-01'+INTERVAL " + std::to_string(last) + " MICROSECOND";
}

std::string holds_of(const LeaseRow& row) {
  std::size_t count = 0;
  for (const LeaseHolder& holder : row.holders) count += holder.entries.size();
  return std::to_string(count);
}

/// Columns that are read of rows: fields as row_of() and the rest of a reading expect them.
std::string read_columns(const std::string& gate, const std::string& refuses) {
  return "SELECT " + gate + "," + kServerMicroseconds + ",CONNECTION_ID()," + refuses + "," + kColumns;
}

}  // namespace

// As bytes: the name of a database is utf8mb3, and of a key with characters beyond that MariaDB would make none.
std::string named_lock(std::string_view kind, const LockName& name) {
  const std::string bytes = "\n" + std::string(kind) + "\n" + name.text();
  return "CONCAT('dlock:',LEFT(SHA2(CONCAT(CAST(DATABASE() AS BINARY)," + literal(bytes) + "),256),56))";
}

LeaseStore::LeaseStore(Servers& servers, Strategy strategy, const LockName& name, From from)
    : servers_(servers),
      strategy_(strategy),
      name_(name),
      key_(key_of(strategy, name)),
      gate_name_(named_lock(strategy_name(strategy), name)),
      from_(from) {}

/// With a connection that is gone goes all that it held.
Error LeaseStore::failed(const Failure& failure) {
  unanswered_ = failure.cut_off;
  return servers_.failed(failure);
}

/// `gate`: an expression.
std::string LeaseStore::read_statement(const std::string& gate) const {
  const std::string refuses = from_ == From::kAny ? "0" : kReadOnly;
  return read_columns(gate, refuses) + " FROM " + kLockTable + " WHERE " + key_;
}

/// An expression that is 1 if the gate is ours. -1: the server has gates that the other nodes do not see. Without gates
/// the first in the poll queue has it; one that shares the lock passes others that do.
std::string LeaseStore::gate_expression() const {
  if (!without_gates_) return "IF(" + std::string(kGalera) + ",-1,GET_LOCK(" + gate_name_ + ",0))";
  return "(SELECT COUNT(*)=0 FROM (SELECT name FROM " + std::string(kLockTable) + " WHERE " + queue_of(name_) +
         " AND expires>UTC_TIMESTAMP(6)" + queued_as_ + " LIMIT 1) AS earlier)";
}

Result<void> LeaseStore::queue(const WaitingNote& note, Duration alive, TimePoint until, Control* control) {
  const std::string ends = "UTC_TIMESTAMP(6)+INTERVAL " + std::to_string(whole_micros(alive)) + " MICROSECOND";
  const std::string since = std::to_string(note.since);
  const std::string mode = "'" + std::string(mode_letter(note.mode)) + "'";
  const std::string entry = queue_entry(name_, note.owner);
  const std::string into = std::string(" INTO ") + kLockTable + " SET strategy=" + literal(kQueuedRows) +
                           ",name=" + entry + ",version=" + since + ",fence=0,permits=0,holds=0,mode=" + mode +
                           ",expires=" + ends + ",holders=" + literal(note.who);
  const bool first = queued_as_.empty();
  if (first) {
    queued_as_ = " AND (version,name)<(" + since + "," + entry + ")";
    if (note.mode == Mode::kShared) queued_as_ += " AND mode<>" + mode;
    TRY(insist("DELETE FROM " + std::string(kLockTable) + " WHERE " + queue_of(name_) +
                   " AND expires<UTC_TIMESTAMP(6)-INTERVAL 60 SECOND",
               until, control));
  }
  const auto done = insist("INSERT" + into + " ON DUPLICATE KEY UPDATE expires=" + ends, until, control);
  return done ? Result<void>() : done.error();
}

Result<void> LeaseStore::withdraw(const std::string& owner, TimePoint until) {
  if (std::exchange(queued_as_, std::string()).empty()) return {};
  const auto done = insist("DELETE FROM " + std::string(kLockTable) + " WHERE strategy=" + literal(kQueuedRows) +
                               " AND name=" + queue_entry(name_, owner),
                           until, nullptr);
  return done ? Result<void>() : done.error();
}

Result<LeaseReading> LeaseStore::understood(const Answer& answer, TimePoint sent) {
  if (answer.rows.size() != 1 || answer.rows[0].size() != kFirstColumn + 5) return not_understood(servers_.server());
  const Row& fields = answer.rows[0];
  LeaseReading reading;
  reading.sent = sent;
  if (text_of(fields[3]) != "0") return failed(read_only_is_set());
  auto row = row_of(fields);
  if (!row) return not_understood(servers_.server());
  reading.row = std::move(*row);
  reading.now = leading_number<std::int64_t>(text_of(fields[1]));
  reading.connection = leading_number<std::uint64_t>(text_of(fields[2]));
  reading.galera = text_of(fields[0]) == "-1";
  without_gates_ = without_gates_ || reading.galera;
  if (fields[0] && !reading.galera) reading.gate = *fields[0] == "1";
  return reading;
}

Result<LeaseReading> LeaseStore::read(bool with_gate, TimePoint until, Control* control) {
  TRY_ASSIGN(const auto database, servers_.connect(until, control));
  while (true) {
    const TimePoint sent = clock().now();
    const bool asks_for_gate = with_gate && !without_gates_;
    const std::string gate = asks_for_gate ? gate_expression() : galera_or_null();
    const AnswerOrFailure outcome = ask(*database, read_statement(gate), clock(), until, control);
    if (const auto* failure = std::get_if<Failure>(&outcome)) {
      const bool refused = asks_for_gate && is_without_named_locks(failure->code);
      without_gates_ = without_gates_ || refused;
      if (refused || (is_worth_repeating(failure->code) && clock().now() < until)) continue;
      return failed(*failure);
    }
    auto reading = understood(std::get<Answer>(outcome), sent);
    if (reading && reading->gate == true) gate_taken();
    return reading;
  }
}

/// As add() in rules.cpp would write it, by the server's clock of that moment. A row that `given_up` its owner has its
/// name in it. The version is the token: one number for both.
std::string LeaseStore::take_statement(const LeaseAsk& ask) const {
  const LeaseHolder ours = newcomer(ask);
  const std::string now = kServerMicroseconds;
  const std::string token = "GREATEST(fence+1," + now + ")";
  const std::string ttl = std::to_string(whole_micros(ask.ttl));
  return "UPDATE " + std::string(kLockTable) +
         " SET holders=" + encode_in_sql(ours, {token, now, now + "+" + ttl, "CONNECTION_ID()"}) +
         ",expires=UTC_TIMESTAMP(6)+INTERVAL " + std::to_string(whole_micros(ask.ttl) + ours.delay) +
         " MICROSECOND,mode='" + mode_letter(ask.mode) + "',permits=" + std::to_string(ask.permits) +
         ",holds=1,version=LAST_INSERT_ID(" + token + "),fence=" + token + " WHERE " + key_ +
         " AND (expires IS NULL OR expires<=UTC_TIMESTAMP(6)) AND version<" + token + " AND LOCATE(" +
         literal(ours.owner) + ",holders)=0" + kUnlessReadOnly;
}

std::optional<LeaseReading> LeaseStore::taken(const Answer& answer, const LeaseAsk& ask, TimePoint sent) {
  if (answer.changed != 1 || answer.number == 0) return std::nullopt;
  LeaseReading reading;
  reading.sent = sent;
  reading.connection = ask.connection;
  reading.now = static_cast<ServerTime>(answer.number);  // later only if the server's clock has gone back
  reading.row = {
      .version = answer.number, .fence = answer.number, .mode = ask.mode, .permits = ask.permits, .holders = {}};
  LeaseHolder& ours = reading.row.holders.emplace_back(newcomer(ask));
  ours.token = answer.number;
  ours.since = reading.now;
  ours.until = reading.now + whole_micros(ask.ttl);
  return reading;
}

Result<LeaseReading> LeaseStore::take(const LeaseAsk& ask, bool wants_gate, TimePoint until, Control* control) {
  unanswered_ = false;
  while (true) {
    TRY_ASSIGN(const auto database, servers_.connect(until, control));
    const bool without_gates = without_gates_;
    const bool gate = wants_gate && (without_gates || !has_gate());
    const TimePoint sent = clock().now();
    const std::string gated = gate ? "SET " + std::string(kGate) + "=" + gate_expression() + ";" : "";
    const std::string batch = gated + take_statement(ask) + (gate ? " AND " + std::string(kGate) + "=1" : "") + ";" +
                              read_statement(gate ? kGate : galera_or_null());
    const AnswerOrFailure outcome = mysql::ask(*database, batch, clock(), until, control);
    if (const auto* failure = std::get_if<Failure>(&outcome)) {
      const bool refused = gate && is_without_named_locks(failure->code);
      without_gates_ = without_gates_ || refused;
      if (!refused && (!is_worth_repeating(failure->code) || clock().now() >= until)) return failed(*failure);
      if (!without_gates) servers_.close();  // whether it has the gate is not known
      continue;
    }
    auto reading = understood(std::get<Answer>(outcome), sent);
    if (reading && without_gates_ != without_gates) continue;  // nothing was taken
    if (reading && reading->gate == true && !without_gates) gate_taken();
    return reading;
  }
}

std::string LeaseStore::change_statement(const LeaseRow& read, LeaseRow& next, const std::string& holds) const {
  // A row that was swept and created again must not have a version that a client remembers.
  next.version = read.version == 0 ? std::max<std::uint64_t>(1, next.fence) : read.version + 1;
  const std::string table(kLockTable);
  const std::string values = "version=" + std::to_string(next.version) + ",fence=" + std::to_string(next.fence) +
                             ",mode='" + mode_letter(next.mode) + "',permits=" + std::to_string(next.permits) +
                             ",holds=" + holds + ",expires=" + expires(next) +
                             ",holders=" + literal(encode_holders(next.holders));
  if (read.version > 0) {
    return "UPDATE " + table + " SET " + values + " WHERE " + key_ + " AND version=" + std::to_string(read.version);
  }
  return "INSERT IGNORE INTO " + table + " SET strategy='" + strategy_name(strategy_) +
         "',name=" + literal(name_.text()) + "," + values;
}

Result<Answer> LeaseStore::insist(const std::string& statement, TimePoint until, Control* control) {
  unanswered_ = false;
  while (true) {
    TRY_ASSIGN(const auto database, servers_.connect(until, control));
    AnswerOrFailure outcome = ask(*database, statement, clock(), until, control);
    if (auto* answer = std::get_if<Answer>(&outcome)) return std::move(*answer);
    const auto& failure = std::get<Failure>(outcome);
    if (!is_worth_repeating(failure.code) || clock().now() >= until) return failed(failure);
  }
}

Result<Written> LeaseStore::change(const LeaseRow& read, LeaseRow& next, TimePoint until, Control* control) {
  TRY_ASSIGN(const auto answer, insist(change_statement(read, next, holds_of(next)), until, control));
  return answer.changed == 1 ? Written::kYes : Written::kNo;
}

Result<std::optional<LeaseStore::Rewritten>> LeaseStore::rewrite(const Rewrite& make, TimePoint until, bool* unanswered,
                                                                 Control* control) {
  bool none = false;
  if (unanswered == nullptr) unanswered = &none;
  const auto attempt = [&]() -> Result<std::optional<Rewritten>> {
    for (int races = 0;; ++races) {
      TRY_ASSIGN(const auto reading, read(false, until, control));
      std::optional<LeaseRow> next = make(reading.row, reading.now);
      if (!next) return std::optional<Rewritten>();
      const auto written = change(reading.row, *next, until, control);
      if (!written) {
        *unanswered = *unanswered || written.error().code == ErrorCode::kUnavailable;
        return written.error();
      }
      if (*written == Written::kYes) return std::optional(Rewritten{reading.row, std::move(*next), reading.now});
      rest_after_race(races, until);
    }
  };
  return dlock::insist(clock(), until, kAskAgainPause, attempt, control).answer;
}

/// Where a hundred change it at the same time, most of what they send would be in vain.
void LeaseStore::rest_after_race(int races, TimePoint until) {
  const TimePoint next = clock().now() + jitter(std::min(kLongestRest, kShortestRest * (1 << std::min(races, 8))));
  clock().sleep_until(std::min(until, next));
}

/// In one statement, because each one of a batch costs the server as much as this one and its commit. Where it is
/// repeated by a replica there is no gate to leave.
Result<Written> LeaseStore::change_and_release_gate(const LeaseRow& read, LeaseRow& next, TimePoint until) {
  const std::string holds = holds_of(next);
  TRY_ASSIGN(const auto answer,
             insist(change_statement(read, next, "IF(RELEASE_LOCK(" + gate_name_ + ")," + holds + "," + holds + ")"),
                    until, nullptr));
  if (answer.changed != 1) return Written::kNo;
  gate_ = -1;
  return Written::kYes;
}

Result<Written> LeaseStore::extend(LeaseRow& row, Duration ttl, TimePoint until, Control* control) {
  const LeaseHolder& holder = row.holders.front();
  const std::string ends = std::string(kServerMicroseconds) + "+" + std::to_string(whole_micros(ttl));
  TRY_ASSIGN(const auto answer,
             insist("UPDATE " + std::string(kLockTable) + " SET version=version+1,holders=" +
                        encode_in_sql(holder, {std::to_string(holder.token), std::to_string(holder.since), ends,
                                               std::to_string(holder.connection)}) +
                        ",expires=UTC_TIMESTAMP(6)+INTERVAL " + std::to_string(whole_micros(ttl) + holder.delay) +
                        " MICROSECOND WHERE " + key_ + " AND version=" + std::to_string(row.version) +
                        " AND expires>UTC_TIMESTAMP(6)+INTERVAL " + std::to_string(holder.delay) + " MICROSECOND" +
                        kUnlessReadOnly,
                    until, control));
  if (answer.changed != 1) return Written::kNo;
  ++row.version;
  return Written::kYes;
}

std::string LeaseStore::wait_statement(const WaitingNote& note, int seconds) const {
  return waiting_comment(strategy_, name_, note) + "GET_LOCK(" + gate_name_ + "," + std::to_string(seconds) + ")";
}

Result<void> LeaseStore::release_gate(TimePoint until, Control* control) {
  gate_ = -1;
  Database* database = servers_.current();
  if (database == nullptr || !database->usable()) return {};
  const AnswerOrFailure outcome = ask(*database, "DO RELEASE_LOCK(" + gate_name_ + ")", clock(), until, control);
  if (const auto* failure = std::get_if<Failure>(&outcome)) return failed(*failure);
  return {};
}

Result<std::vector<Participant>> LeaseStore::queued(TimePoint until) {
  TRY_ASSIGN(const auto answer,
             insist("SELECT SUBSTRING_INDEX(name,'.',-1),mode,version,holders FROM " + std::string(kLockTable) +
                        " WHERE " + queue_of(name_) + " AND expires>UTC_TIMESTAMP(6) ORDER BY version,name",
                    until, nullptr));
  std::vector<Participant> waiters;
  for (const Row& row : answer.rows) {
    const auto mode = mode_of_letter(mysql::text_of(row, 1));
    if (!mode) continue;
    Participant& waiter = waiters.emplace_back();
    waiter.owner = mysql::text_of(row, 0);
    waiter.mode = *mode;
    waiter.since = wall_time(leading_number<std::int64_t>(mysql::text_of(row, 2)));
    add_who(waiter, mysql::text_of(row, 3));
  }
  return waiters;
}

Result<std::map<std::string, Result<LeaseReading>>> LeaseStore::read_some(Servers& servers, Strategy strategy,
                                                                          std::span<const LockName> names,
                                                                          TimePoint until) {
  std::string list;
  for (const LockName& name : names) list += (list.empty() ? "" : ",") + literal(name.text());
  TRY_ASSIGN(const auto answer,
             servers.run(read_columns(galera_or_null(), "0") + ",name FROM " + kLockTable + " WHERE strategy='" +
                             strategy_name(strategy) + "' AND name IN (" + list + ") GROUP BY name",
                         until));
  std::map<std::string, Result<LeaseReading>> found;
  for (const Row& fields : answer.rows) {
    if (fields.size() != kFirstColumn + 6) return not_understood(servers.server());
    auto row = row_of(fields);
    LeaseReading reading;
    reading.now = leading_number<std::int64_t>(text_of(fields[1]));
    reading.galera = text_of(fields[0]) == "-1";
    if (row) reading.row = std::move(*row);
    found.emplace(text_of(fields.back()),
                  row ? Result<LeaseReading>(std::move(reading)) : not_understood(servers.server()));
  }
  return found;
}

}  // namespace dlock::mysql
