// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/bound/store.h"

#include <algorithm>

#include "backends/mysql/connection/ask.h"
#include "backends/mysql/connection/common_statements.h"
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
  return is_plain(name.text()) ? "'" + name.text() + "'" : named_lock("session", name);
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

/// What a value that is no number is compared with; for others nobody asks.
std::string type_query(const UserRow& row) {
  if (is_number(row.value)) return "NULL";
  return "(SELECT DATA_TYPE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME=_utf8mb4 " +
         literal(row.table) + " AND COLUMN_NAME=_utf8mb4 " + literal(row.column) + ")";
}

bool is_date(const std::string& value) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return value.find_first_not_of("0123456789-:. T") == std::string::npos && !value.empty() && is_digit(value.back());
}

/// What a column of that type has, if `value`, which is no number, is none of these. The server would take what the
/// text begins with: 42 for '42abc', or 0; the first of May for '2026-05-01abc'.
const char* misfit(const std::string& type, const std::string& value) {
  if (type.ends_with("int") || type == "decimal" || type == "float" || type == "double" || type == "year")
    return "numbers";
  const bool dates = type.starts_with("date") || type.starts_with("time");
  return dates && !is_date(value) ? "dates or times" : nullptr;
}

/// MySQL has a column `partitions` before it.
std::string access_type(const Row& plan) {
  const std::size_t at = plan.size() > 10 ? 4 : 3;
  return plan.size() > at ? plan[at].value_or("") : "";
}

}  // namespace

Error of_one_node(const std::string& server, Strategy strategy) {
  return {ErrorCode::kUnsupported,
          server + " is a node of a Galera cluster, and strategy=" + strategy_name(strategy) +
              " would hold on that node alone",
          "use strategy=lease"};
}

BoundStore::BoundStore(const Settings& settings, const LockName& name, Clock& clock)
    : strategy_(settings.strategy),
      name_(name),
      row_(settings.row),
      clock_(clock),
      lock_(session_lock(name)),
      where_(where(settings.row, name)) {}

Result<Answer> BoundStore::say(Database& database, const std::string& server, const std::string& statement,
                               TimePoint until, Control* control) {
  Outcome outcome = ask(database, statement, clock_, until, control);
  if (auto* answer = std::get_if<Answer>(&outcome)) return std::move(*answer);
  return error_of(std::get<Failure>(outcome), server);
}

/// An INSERT waits for whoever has locked the row of that key, even to find that it is there: so it is looked for
/// first, together with what the table is, and who is overtaken in between waits a second at most.
Result<void> BoundStore::make_own_row(Database& database, const std::string& server, TimePoint until,
                                      Control* control) {
  const std::string kind = kinds_query("='" + std::string(kRowTable) + "'", "EXISTS(SELECT 1 FROM " + where_ + ")");
  const auto seen = say(database, server, kind, until, control);
  if (!seen) return seen.error();
  for (const Row& row : seen->rows) {
    if (auto fit = judge_engine(row); !fit) return fit;
    if (text_of(row, kBeside) == "1") return {};
  }
  if (auto set = say(database, server, kShortLockWait, until, control); !set) return set.error();
  const std::string insert = "INSERT IGNORE INTO " + std::string(kRowTable) + " SET name=" + literal(name_.text());
  const Outcome made = ask(database, insert, clock_, until, control);
  const auto* failure = std::get_if<Failure>(&made);
  if (failure && !is_worth_repeating(failure->code)) return error_of(*failure, server);
  return {};
}

/// A row that is not there would be a gap that is locked; a column without index, the whole table.
Result<void> BoundStore::check_user_row(Database& database, const std::string& server, TimePoint until,
                                        Control* control) {
  const auto kinds =
      say(database, server, kinds_query("=_utf8mb4 " + literal(row_->table), type_query(*row_)), until, control);
  if (!kinds) return kinds.error();
  if (kinds->rows.empty()) {
    return Error{ErrorCode::kMisconfigured, server + " has no table " + row_->table + " that this user may see",
                 "check row= in the URL, and the rights of the user"};
  }
  if (text_of(kinds->rows[0], kTableComment) == "VIEW") {
    return Error{ErrorCode::kMisconfigured, row_->table + " on " + server + " is a view, and has no rows of its own",
                 "name the table that has them"};
  }
  if (auto fit = judge_engine(kinds->rows[0]); !fit) return fit;
  if (const char* content = misfit(text_of(kinds->rows[0], kBeside), row_->value)) {
    return Error{ErrorCode::kMisconfigured,
                 "row=" + row_text(*row_) + " names no row: " + row_->column + " is a column of " + content,
                 "it is TABLE:COLUMN=VALUE, for example row=orders:id=42"};
  }
  // Not of the locking query: to explain that, the server reads the row, with the lock.
  const Outcome explained = ask(database, "EXPLAIN SELECT 1 FROM " + where_, clock_, until, control);
  if (const auto* failure = std::get_if<Failure>(&explained)) {
    if (!is_wrong_table(failure->code)) return error_of(*failure, server);
    return Error{ErrorCode::kMisconfigured,
                 "row=" + row_text(*row_) + " names no row on " + server + ": " + failure->text,
                 "it is TABLE:COLUMN=VALUE, for example row=orders:id=42"};
  }
  const auto* plan = std::get_if<Answer>(&explained);
  const std::string type = plan->rows.empty() ? "" : access_type(plan->rows[0]);
  if (type == "ALL" || type == "index") {
    return Error{ErrorCode::kMisconfigured,
                 "row=" + row_text(*row_) + " would lock all of " + row_->table + ": " + row_->column +
                     " has no index that serves",
                 "name a column with an index, best the primary key"};
  }
  return {};
}

Result<void> BoundStore::prepare(Database& database, const std::string& server, int wait_seconds, TimePoint until,
                                 Control* control) {
  if (strategy_ == Strategy::kSession) return {};
  const auto fit =
      row_ ? check_user_row(database, server, until, control) : make_own_row(database, server, until, control);
  if (!fit) return fit;
  const auto set =
      say(database, server, "SET SESSION innodb_lock_wait_timeout=" + std::to_string(wait_seconds), until, control);
  return set ? Result<void>() : set.error();
}

std::string BoundStore::row_query() const { return "SELECT 1 FROM " + where_ + " FOR UPDATE"; }

Result<BoundStore::Got> BoundStore::try_it(Database& database, const std::string& server, TimePoint until,
                                           Control* control) {
  if (strategy_ == Strategy::kSession) {
    return judge(database, server, ask(database, "SELECT GET_LOCK(" + lock_ + ",0)", clock_, until, control), until);
  }
  const auto begun = say(database, server, "START TRANSACTION", until, control);
  if (!begun) return begun.error();
  return judge(database, server, ask(database, row_query() + " NOWAIT", clock_, until, control), until);
}

Result<void> BoundStore::begin_wait(Database& database, const std::string& server, const WaitingNote& note, int seconds,
                                    TimePoint until, Control* control) {
  const std::string begin = waiting_comment(strategy_, name_, note);
  if (strategy_ == Strategy::kSession) {
    database.begin(begin + "GET_LOCK(" + lock_ + "," + std::to_string(seconds) + ")");
    return {};
  }
  const auto begun = say(database, server, "START TRANSACTION", until, control);
  if (!begun) return begun.error();
  database.begin(begin + "1 FROM " + where_ + " FOR UPDATE");
  return {};
}

Result<BoundStore::Got> BoundStore::waited(Database& database, const std::string& server, const Outcome& outcome,
                                           TimePoint until) {
  return judge(database, server, outcome, until);
}

Result<BoundStore::Got> BoundStore::judge(Database& database, const std::string& server, const Outcome& outcome,
                                          TimePoint until) {
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
    if (const auto ended = let_go(database, server, until); !ended) return ended.error();
  }
  if (failure) return is_worth_repeating(failure->code) ? Result<Got>(Got::kNo) : error_of(*failure, server);
  if (!row_) {
    const auto made = make_own_row(database, server, until, nullptr);
    return made ? Result<Got>(Got::kNo) : made.error();
  }
  return Error{ErrorCode::kMisconfigured, "there is no row " + row_text(*row_) + " on " + server,
               "a row must be there to be locked; use strategy=lease for a lock without one"};
}

Result<void> BoundStore::let_go(Database& database, const std::string& server, TimePoint until) {
  if (strategy_ == Strategy::kSession) return give_back(database, server, until);
  const auto done = say(database, server, "ROLLBACK", until, nullptr);
  return done ? Result<void>() : done.error();
}

Result<void> BoundStore::give_back(Database& database, const std::string& server, TimePoint until) {
  const std::string statement = strategy_ == Strategy::kSession ? "DO RELEASE_LOCK(" + lock_ + ")" : "COMMIT";
  const auto done = say(database, server, statement, until, nullptr);
  return done ? Result<void>() : done.error();
}

Result<std::optional<std::uint64_t>> BoundStore::holder(Servers& servers, TimePoint until) {
  if (strategy_ == Strategy::kSession) {
    const auto used = run_statement(servers, "SELECT IS_USED_LOCK(" + lock_ + ")", clock_, until);
    if (!used) return used.error();
    return std::optional(leading_number<std::uint64_t>(used->rows.empty() ? "0" : used->rows[0][0].value_or("0")));
  }
  const auto database = servers.connect(until, nullptr);
  if (!database) return database.error();
  const std::string server = servers.server();
  // A key that was never locked has no row yet: nobody holds it.
  const auto there = say(**database, server, "SELECT 1 FROM " + where_ + " LIMIT 1", until, nullptr);
  if (!there) return there.error();
  if (there->rows.empty()) return std::optional<std::uint64_t>(0);
  const auto got = try_it(**database, server, until, nullptr);
  if (!got) return got.error();
  if (*got == Got::kNo) return std::optional<std::uint64_t>();
  if (const auto ended = let_go(**database, server, until); !ended) return ended.error();
  return std::optional<std::uint64_t>(0);
}

}  // namespace dlock::mysql
