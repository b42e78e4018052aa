// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/bound/store.h"

#include <algorithm>

#include "backends/mysql/connection/database.h"
#include "backends/mysql/connection/errors.h"
#include "backends/mysql/connection/schema.h"
#include "backends/mysql/connection/sql_text.h"
#include "lib/base/human_text.h"
#include "lib/base/text.h"

namespace dlock::mysql {
namespace {

constexpr char kShortLockWait[] = "SET SESSION innodb_lock_wait_timeout=1";
constexpr std::size_t kLongestName = 64;  ///< of a named lock in MySQL

/// A name that means one lock on every server: MySQL compares them without case, and takes 64 characters.
bool is_plain(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view("_.:/-").find(c) != std::string_view::npos;
  };
  return name.size() <= kLongestName && !name.starts_with("dlock:") && std::all_of(name.begin(), name.end(), fits);
}

/// Names that are plain are used as they are, so that GET_LOCK('nightly', ...) of another program is the same lock.
std::string session_lock(const LockName& name) {
  return is_plain(name.text()) ? "'" + name.text() + "'" : named_lock("session", name.text());
}

/// A literal with a character set takes on that of the column, or its number, so that the index serves.
std::string where(const std::optional<UserRow>& row, const LockName& name) {
  if (!row) return std::string(kRowTable) + " WHERE name=" + literal(name.text());
  return identifier(row->table) + " WHERE " + identifier(row->column) + "=_utf8mb4 " + literal(row->value);
}

std::string row_text(const UserRow& row) { return row.table + ":" + row.column + "=" + row.value; }

bool is_number(const std::string& value) {
  return value.find_first_not_of("0123456789+-.eE") == std::string::npos && whole_number<double>(value);
}

/// The counterpart of a value that is not a number; unused for others.
std::string type_query(const UserRow& row) {
  if (is_number(row.value)) return "NULL";
  return "(SELECT DATA_TYPE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME=_utf8mb4 " +
         literal(row.table) + " AND COLUMN_NAME=_utf8mb4 " + literal(row.column) + ")";
}

bool is_date(const std::string& value) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return value.find_first_not_of("0123456789-:. T") == std::string::npos && !value.empty() && is_digit(value.back());
}

/// Values of a column of that type, if `value`, which is not a number, is none of them. The server would take what the
/// text begins with: 42 for '42abc', or 0; the first of May for '2026-05-01abc'.
const char* misfit(const std::string& type, const std::string& value) {
  if (type.ends_with("int") || type == "decimal" || type == "float" || type == "double" || type == "year")
    return "numbers";
  const bool dates = type.starts_with("date") || type.starts_with("time");
  return dates && !is_date(value) ? "dates or times" : nullptr;
}

/// The column `type` of a plan in the traditional format, in which MySQL has `partitions` before it; "" for NULL: no
/// row can match. nullopt: the plan has another form.
std::optional<std::string> access_type(const Answer& plan) {
  if (plan.rows.size() != 1 || (plan.rows[0].size() != 10 && plan.rows[0].size() != 12)) return std::nullopt;
  return text_of(plan.rows[0], plan.rows[0].size() == 12 ? 4 : 3);
}

}  // namespace

Error of_one_node(const std::string& server, Strategy strategy) {
  return {ErrorCode::kUnsupported,
          server + " is one of several primaries (Galera cluster, Group Replication), and strategy=" +
              strategy_name(strategy) + " would hold there alone",
          "use strategy=lease"};
}

Error lives_with_its_connection(Strategy strategy) {
  return {ErrorCode::kUnsupported,
          "a lock of strategy=" + std::string(strategy_name(strategy)) + " lives with its connection",
          "use strategy=lease"};
}

BoundStore::BoundStore(const Settings& settings, const LockName& name, Servers& servers)
    : strategy_(settings.strategy),
      name_(name),
      row_(settings.row),
      servers_(servers),
      lock_(session_lock(name)),
      where_(where(settings.row, name)) {}

AnswerOrFailure BoundStore::ask(const std::string& statement, TimePoint until, Control* control) {
  return mysql::ask(*servers_.current(), statement, servers_.clock(), until, control);
}

Result<Answer> BoundStore::say(const std::string& statement, TimePoint until, Control* control) {
  AnswerOrFailure outcome = ask(statement, until, control);
  if (auto* answer = std::get_if<Answer>(&outcome)) return std::move(*answer);
  return error_of(std::get<Failure>(outcome), servers_.server());
}

/// An INSERT waits for whoever has locked the row of that key, even to find that it is there: so it is looked for
/// first, together with what the table is, and who is overtaken in between waits a second at most.
Result<void> BoundStore::make_own_row(TimePoint until, Control* control) {
  const std::string kind = kinds_query("='" + std::string(kRowTable) + "'", "EXISTS(SELECT 1 FROM " + where_ + ")");
  TRY_ASSIGN(const auto seen, say(kind, until, control));
  for (const Row& row : seen.rows) {
    if (auto fit = judge_engine(row); !fit) return fit;
    if (text_of(row, kBeside) == "1") return {};
  }
  TRY(say(kShortLockWait, until, control));
  const std::string insert = "INSERT IGNORE INTO " + std::string(kRowTable) + " SET name=" + literal(name_.text());
  const AnswerOrFailure made = ask(insert, until, control);
  const auto* failure = std::get_if<Failure>(&made);
  if (failure && !is_worth_repeating(failure->code)) return error_of(*failure, servers_.server());
  return {};
}

/// A row that is not there would be a gap that is locked; a column without index, the whole table.
Result<void> BoundStore::check_user_row(TimePoint until, Control* control) {
  const std::string& server = servers_.server();
  TRY_ASSIGN(const auto kinds,
             say(kinds_query("=_utf8mb4 " + literal(row_->table), type_query(*row_)), until, control));
  if (kinds.rows.empty()) {
    return Error{ErrorCode::kMisconfigured, server + " has no table " + row_->table + " that this user may see",
                 "check row= in the URL, and the rights of the user"};
  }
  if (text_of(kinds.rows[0], kTableComment) == "VIEW") {
    return Error{ErrorCode::kMisconfigured, row_->table + " on " + server + " is a view, and has no rows of its own",
                 "name the table that has them"};
  }
  if (auto fit = judge_engine(kinds.rows[0]); !fit) return fit;
  if (const char* content = misfit(text_of(kinds.rows[0], kBeside), row_->value)) {
    return Error{ErrorCode::kMisconfigured,
                 "row=" + row_text(*row_) + " names no row: " + row_->column + " is a column of " + content,
                 "it is TABLE:COLUMN=VALUE, for example row=orders:id=42"};
  }
  // Not of the locking query: to explain that, the server reads the row, with the lock.
  const AnswerOrFailure explained = ask("EXPLAIN FORMAT=TRADITIONAL SELECT 1 FROM " + where_, until, control);
  if (const auto* failure = std::get_if<Failure>(&explained)) {
    if (!is_wrong_table(failure->code)) return error_of(*failure, server);
    return Error{ErrorCode::kMisconfigured,
                 "row=" + row_text(*row_) + " names no row on " + server + ": " + failure->text,
                 "it is TABLE:COLUMN=VALUE, for example row=orders:id=42"};
  }
  const auto type = access_type(std::get<Answer>(explained));
  constexpr std::string_view kByIndex[] = {"", "system", "const", "eq_ref", "ref", "ref_or_null", "range"};
  if (type && std::find(std::begin(kByIndex), std::end(kByIndex), *type) != std::end(kByIndex)) return {};
  return Error{ErrorCode::kMisconfigured,
               "row=" + row_text(*row_) + " would lock all of " + row_->table + ": " + row_->column +
                   " has no index that serves" + (type ? "" : " that " + server + " would show"),
               "name a column with an index, best the primary key"};
}

Result<void> BoundStore::prepare(int wait_seconds, TimePoint until, Control* control) {
  if (strategy_ == Strategy::kSession) return {};
  const auto fit = row_ ? check_user_row(until, control) : make_own_row(until, control);
  if (!fit) return fit;
  const auto set = say("SET SESSION innodb_lock_wait_timeout=" + std::to_string(wait_seconds), until, control);
  return set ? Result<void>() : set.error();
}

std::string BoundStore::row_query() const { return "SELECT 1 FROM " + where_ + " FOR UPDATE"; }

Result<BoundStore::Got> BoundStore::try_it(TimePoint until, Control* control) {
  if (strategy_ == Strategy::kSession) {
    return waited(ask("SELECT GET_LOCK(" + lock_ + ",0)", until, control), until);
  }
  TRY(say("START TRANSACTION", until, control));
  return waited(ask(row_query() + " NOWAIT", until, control), until);
}

Result<void> BoundStore::begin_wait(const WaitingNote& note, int seconds, TimePoint until, Control* control) {
  const std::string begin = waiting_comment(strategy_, name_, note);
  if (strategy_ == Strategy::kSession) {
    servers_.current()->begin(begin + "GET_LOCK(" + lock_ + "," + std::to_string(seconds) + ")");
    return {};
  }
  TRY(say("START TRANSACTION", until, control));
  servers_.current()->begin(begin + "1 FROM " + where_ + " FOR UPDATE");
  return {};
}

Result<BoundStore::Got> BoundStore::waited(const AnswerOrFailure& outcome, TimePoint until) {
  const std::string& server = servers_.server();
  const auto* answer = std::get_if<Answer>(&outcome);
  if (strategy_ == Strategy::kSession && answer) {
    const bool got = answer->rows.size() == 1 && answer->rows[0].size() == 1 && answer->rows[0][0].value_or("") == "1";
    return got ? Got::kYes : Got::kNo;
  }
  if (strategy_ == Strategy::kSession) {
    const auto& failure = std::get<Failure>(outcome);
    if (is_worth_repeating(failure.code)) return Got::kNo;
    if (!is_without_named_locks(failure.code)) return error_of(failure, server);
    return Error{ErrorCode::kUnsupported, server + " has no named locks: " + printable(failure.text, kForeignWords),
                 "use strategy=lease"};
  }
  if (answer && !answer->rows.empty()) return Got::kYes;
  // A lock wait that was ended leaves the transaction open, and a missing row leaves nothing to hold.
  const auto* failure = std::get_if<Failure>(&outcome);
  if (!failure || !failure->cut_off) {
    TRY(release(until));
  }
  if (failure) return is_worth_repeating(failure->code) ? Result<Got>(Got::kNo) : error_of(*failure, server);
  if (!row_) {
    const auto made = make_own_row(until, nullptr);
    return made ? Result<Got>(Got::kNo) : made.error();
  }
  return Error{ErrorCode::kMisconfigured, "there is no row " + row_text(*row_) + " on " + server,
               "a row must exist to be locked; use strategy=lease for a lock without one"};
}

Result<void> BoundStore::release(TimePoint until) {
  const auto done =
      say(strategy_ == Strategy::kSession ? "DO RELEASE_LOCK(" + lock_ + ")" : "ROLLBACK", until, nullptr);
  return done ? Result<void>() : done.error();
}

Result<std::optional<std::uint64_t>> BoundStore::holder(TimePoint until) {
  if (strategy_ == Strategy::kSession) {
    TRY_ASSIGN(const auto used, servers_.run("SELECT IS_USED_LOCK(" + lock_ + ")", until));
    return std::optional(leading_number<std::uint64_t>(used.rows.empty() ? "0" : used.rows[0][0].value_or("0")));
  }
  TRY(servers_.connect(until, nullptr));
  // A key that was never locked has no row yet: it is free.
  TRY_ASSIGN(const auto there, say("SELECT 1 FROM " + where_ + " LIMIT 1", until, nullptr));
  if (there.rows.empty()) return std::optional<std::uint64_t>(0);
  TRY_ASSIGN(const auto got, try_it(until, nullptr));
  if (got == Got::kNo) return std::optional<std::uint64_t>();
  TRY(release(until));
  return std::optional<std::uint64_t>(0);
}

}  // namespace dlock::mysql
