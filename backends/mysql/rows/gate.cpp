// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/rows/gate.h"

#include <algorithm>

#include "backends/mysql/connection/database.h"
#include "backends/mysql/connection/errors.h"
#include "backends/mysql/connection/process_list.h"
#include "backends/mysql/connection/schema.h"
#include "backends/mysql/connection/sql_text.h"
#include "backends/mysql/connection/waiting.h"
#include "backends/mysql/rows/rows.h"
#include "lib/base/random.h"
#include "lib/base/text.h"
#include "lib/keeper/insist.h"

namespace dlock::mysql {
namespace {

using Kind = Rows::Change::Kind;

constexpr char kGate[] = "@dlock_gate";
enum LookColumn : std::uint8_t { kGot, kNow, kConnection, kRefuses, kVersion, kText, kLookColumns };

std::string gate_of(const LockName& group) { return named_lock(strategy_name(Strategy::kLease), group.text()); }

std::string ear_of(const LockName& group, const std::string& key) {
  return named_lock("listens", group.text() + "\n" + key);
}

/// By the server's clock, unless the row's version is ahead of it.
std::string next_version() { return "LAST_INSERT_ID(GREATEST(version+1," + std::string(kServerMicroseconds) + "))"; }

std::string texts_of(const std::string& text) { return ",text=" + literal(text) + ",a=NULL,b=NULL,c=NULL,d=NULL"; }

/// `of`: the condition of the row.
std::string fill_statement(const std::string& of, const std::string& text) {
  return "UPDATE " + std::string(kDataTable) + " SET version=" + next_version() + texts_of(text) + of + " AND text=''" +
         kUnlessReadOnly;
}

}  // namespace

std::optional<std::string> plain_update(const std::string& group, const Rows::Commit& commit,
                                        const std::string& version) {
  std::string change, before;
  for (const Rows::Change& one : commit) {
    if (one.kind == Kind::kTell) continue;
    if (one.kind == Kind::kBefore) {
      before += " AND " + std::string(kServerMicroseconds) + "<" + std::to_string(one.version);
      continue;
    }
    if (one.kind != Kind::kPut || one.version == 0 || !change.empty() || count_numbers(one.text) > 0)
      return std::nullopt;
    std::string next = version;
    for (auto at = next.find('?'); at != std::string::npos; at = next.find('?', at + next_version().size()))
      next.replace(at, 1, next_version());
    change = "UPDATE " + std::string(kDataTable) + " SET version=" + next + texts_of(one.text) + group +
             " AND id=" + literal(one.key) + " AND version=" + std::to_string(one.version);
  }
  if (change.empty()) return std::nullopt;
  return change + before + kUnlessReadOnly;
}

std::string RowGate::of(const LockName& group) const {
  return " WHERE space=" + space_ + " AND name=" + literal(group.text());
}

Result<Rows::Look> RowGate::understood(const Answer& answer) {
  if (answer.rows.size() != 1 || answer.rows[0].size() != kLookColumns)
    return Error{ErrorCode::kMisconfigured, servers_.server() + " has answered what dlock does not understand"};
  const Row& row = answer.rows[0];
  if (text_of(row, kRefuses) != "0") return servers_.failed(read_only_is_set());
  const std::string got = text_of(row, kGot);
  missing_ = missing_ || got == "-1";
  if (got == "1") gate_ = servers_.generation();
  connection_ = leading_number<std::uint64_t>(text_of(row, kConnection));
  const auto version = leading_number<Rows::Number>(text_of(row, kVersion));
  return Rows::Look{{{text_of(row, kText), version, static_cast<std::int64_t>(version)}},
                    leading_number<std::int64_t>(text_of(row, kNow))};
}

/// An empty text fills nothing.
Result<Rows::Look> RowGate::look_and_fill(const LockName& group, const std::string& key, const std::string& text,
                                          const CallLimit& limit) {
  const std::string row = of(group) + " AND id=" + literal(key);
  bool filled = false;  // perhaps
  while (true) {
    const auto connected = servers_.connect(limit.until, limit.control);
    if (!connected) {
      Error error = connected.error();
      error.undone = error.undone && !filled;
      return error;
    }
    const bool gate = !missing_ && !at_head();
    std::string batch =
        gate ? "SET " + std::string(kGate) + "=IF(" + kGalera + ",-1,GET_LOCK(" + gate_of(group) + ",0));" : "";
    if (!text.empty() && !missing_)
      batch += fill_statement(row, text) + (gate ? " AND " + std::string(kGate) + "=1;" : ";");
    batch += "SELECT " + std::string(gate ? kGate : "NULL") + "," + kServerMicroseconds + ",CONNECTION_ID()," +
             kReadOnly + ",MAX(version),MAX(text) FROM " + kDataTable + row;
    const AnswerOrFailure outcome = ask(**connected, batch, servers_.clock(), limit.until, limit.control);
    if (const auto* failure = std::get_if<Failure>(&outcome)) {
      filled = filled || !text.empty();
      const bool refused = gate && is_without_named_locks(failure->code);
      missing_ = missing_ || refused;
      const bool again = is_worth_repeating(failure->code) && servers_.clock().now() < limit.until;
      Error error = servers_.failed(*failure);
      error.undone = error.undone && !filled;  // what stands before it in the batch was done
      if (!refused) servers_.close();          // whether it has the gate is not known
      if (!refused && !again) return error;
      continue;
    }
    auto look = understood(std::get<Answer>(outcome));
    if (!look || text.empty() || missing_ || !at_head() || look->rows.front().version != 0) return look;
    TRY(servers_.run("INSERT IGNORE INTO " + std::string(kDataTable) + "(space,name,id,version,text) VALUES(" + space_ +
                         "," + literal(group.text()) + "," + literal(key) + "," + kServerMicroseconds + ",'')",
                     limit.until, limit.control));
  }
}

/// In the server's queue. The next one fills the row without coming back in between.
RowQueue::Turn RowGate::wait(const LockName& group, const std::string& key, const std::string& text,
                             const WaitingNote& note, std::optional<TimePoint> until, Acquisition& acquisition,
                             Control& control) {
  Clock& clock = servers_.clock();
  Database* database = servers_.current();
  if (database == nullptr || !database->usable()) {
    acquisition.pause(earlier(clock.now() + jitter(kAskAgainPause), until), control);
    return {};
  }
  const std::string seconds = std::to_string(wait_seconds(until, clock.now()));
  database->begin(waiting_comment(Strategy::kLease, group, note) + "GET_LOCK(" + gate_of(group) + "," + seconds + ")",
                  note.takes ? fill_statement(of(group) + " AND id=" + literal(key), text) : "");
  const Waited waited = wait_on_server(acquisition, servers_, clock, connection_, until, control);
  if (!waited.outcome) return {.unknown = waited.went_on};
  const auto* answer = std::get_if<Answer>(&*waited.outcome);
  if (answer && answer->went_on) {
    gate_ = servers_.generation();
    if (answer->changed != 1 || answer->number == 0) return {};
    const auto at = static_cast<std::int64_t>(answer->number);  // later only if the server's clock has gone back
    return {Rows::Look{{{text, answer->number, at}}, at}, *answer->went_on};
  }
  if (answer && !answer->rows.empty() && text_of(answer->rows[0], 0) == "1") gate_ = servers_.generation();
  if (const auto* failure = std::get_if<Failure>(&*waited.outcome)) {
    if (waited.went_on) servers_.close();  // whether it has the gate is not worth knowing
    if (is_without_named_locks(failure->code)) missing_ = true;
    else acquisition.pause(earlier(clock.now() + jitter(kAskAgainPause), until), control);
  }
  return {.unknown = waited.went_on && !answer};
}

/// In one statement, because each one of a batch costs the server as much as this one and its commit: the next in the
/// queue is woken before the change is committed, and waits for the row until it is.
Result<Rows::Number> RowGate::commit_and_leave(const LockName& group, const Rows::Commit& commit,
                                               const CallLimit& limit) {
  const auto statement = plain_update(of(group), commit, "IF(RELEASE_LOCK(" + gate_of(group) + "),?,?)");
  if (!statement) return Rows::Number(0);
  TRY_ASSIGN(const auto answer, servers_.run(*statement, limit.until, limit.control));
  if (answer.changed != 1) return Rows::Number(0);
  gate_ = -1;
  return Rows::Number(answer.number);
}

void RowGate::leave(const LockName& group, const CallLimit& limit) {
  if (!at_head()) return;
  gate_ = -1;
  (void)ask(*servers_.current(), "DO RELEASE_LOCK(" + gate_of(group) + ")", servers_.clock(), limit.until,
            limit.control);
}

Result<bool> RowGate::listen(const LockName& group, const std::string& key, const CallLimit& limit) {
  if (missing_) return false;
  const auto got = servers_.run("SELECT GET_LOCK(" + ear_of(group, key) + ",0)", limit.until, limit.control);
  if (!got) return got.error();
  if (got->rows.empty() || text_of(got->rows.front(), 0) != "1")
    return Error{ErrorCode::kUnavailable, servers_.server() + " has an older connection of ours still", "", true};
  ear_ = servers_.generation();
  return true;
}

bool RowGate::is_deaf() {
  if (!ear_ || (servers_.current() != nullptr && *ear_ == servers_.generation())) return false;
  ear_.reset();
  return true;
}

void RowGate::tell(const LockName& group, const Rows::Commit& commit, const CallLimit& limit) {
  std::string ears;
  for (const Rows::Change& one : commit) {
    if (one.kind == Kind::kTell) ears += (ears.empty() ? "" : ",") + ("IS_USED_LOCK(" + ear_of(group, one.key) + ")");
  }
  if (ears.empty() || missing_) return;
  const auto found = servers_.run("SELECT " + ears, limit.until, limit.control);
  if (!found || found->rows.empty()) return;
  for (const auto& id : found->rows.front()) {
    if (id) (void)servers_.run("KILL " + *id, limit.until, limit.control);
  }
}

Rows& RowGate::beside() {
  Settings settings = settings_;
  const Servers beside = servers_.beside();
  settings.servers = beside.all();
  beside_ = make_lock_rows(std::move(settings), beside.dial(), {}, runtime_);
  return *beside_;
}

Result<std::map<std::string, std::vector<Participant>>> RowGate::waiters(const LockName* group,
                                                                         const CallLimit& limit) {
  if (!group) return all_waiters(servers_, Strategy::kLease, limit.until);
  TRY_ASSIGN(auto some, waiters_of(servers_, Strategy::kLease, *group, limit.until, limit.control));
  return Waiters{{group->text(), std::move(some)}};
}

}  // namespace dlock::mysql
