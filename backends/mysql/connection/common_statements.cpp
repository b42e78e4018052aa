// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connection/common_statements.h"

#include <algorithm>
#include <map>
#include <set>

#include "backends/mysql/connection/ask.h"
#include "backends/mysql/connection/errors.h"
#include "backends/mysql/connection/schema.h"
#include "backends/mysql/connection/sql_text.h"

namespace dlock::mysql {
namespace {

constexpr Duration kRowPause = std::chrono::milliseconds(10);  ///< for the end of somebody else's transaction
constexpr Duration kKillBudget = std::chrono::milliseconds(300);
constexpr std::size_t kAtOnce = 256;  ///< rows in one statement
constexpr char kDayMicroseconds[] = "86400000000";

/// "dlock tables 1"
std::string table_comment() { return "dlock tables " + std::to_string(kSchemaVersion); }

/// Misconfigured if one of them is of another version, or has no transactions or another key.
Result<std::set<std::string>> present_tables(Servers& servers, Clock& clock, TimePoint until) {
  const auto found = run_statement(servers, kinds_query(kOurTables), clock, until);
  if (!found) return found.error();
  std::set<std::string> present;
  for (const Row& row : found->rows) {
    const std::string comment = text_of(row, kTableComment);
    if (comment != table_comment()) {
      return Error{ErrorCode::kMisconfigured,
                   "the table " + text_of(row, kTableName) + " on " + servers.server() + " is not '" + table_comment() +
                       "' but '" + comment + "'",
                   "use the dlock that belongs to it, or drop the table while nothing is locked, and run dlock setup"};
    }
    if (auto fit = judge_engine(row); !fit) return fit.error();
    present.insert(text_of(row, kTableName));
  }
  const auto keys = run_statement(servers, keys_query(), clock, until);
  if (!keys) return keys.error();
  for (const Table& table : tables()) {
    if (!present.contains(table.name)) continue;
    if (auto fit = judge_key(table, *keys); !fit) return fit.error();
  }
  return present;
}

}  // namespace

Result<std::optional<Answer>> try_statement(Servers& servers, const std::string& statement, Clock& clock,
                                            TimePoint until, Control* control) {
  while (true) {
    const auto database = servers.connect(until, control);
    if (!database) return database.error();
    Outcome outcome = ask(**database, statement, clock, until, control);
    if (auto* answer = std::get_if<Answer>(&outcome)) return std::optional(std::move(*answer));
    const auto& failure = std::get<Failure>(outcome);
    const std::string server = servers.server();
    if (is_locked_row(failure.code)) return std::optional<Answer>();
    if (is_worth_repeating(failure.code) && clock.now() < until) continue;
    if (failure.cut_off) servers.drop();
    if (is_read_only(failure.code)) servers.drop_read_only();
    return error_of(failure, server);
  }
}

Result<Answer> run_statement(Servers& servers, const std::string& statement, Clock& clock, TimePoint until,
                             Control* control) {
  while (true) {
    auto answer = try_statement(servers, statement, clock, until, control);
    if (!answer) return answer.error();
    if (*answer) return std::move(**answer);
    const bool stopped = control != nullptr && control->stop_requested();
    if (stopped || clock.now() >= until) {
      return Error{ErrorCode::kUnavailable, "another transaction has locked the row on " + servers.server(),
                   "find it with SHOW ENGINE INNODB STATUS"};
    }
    std::vector<pollfd> fds;
    if (control != nullptr) control->add_interest(fds);
    clock.wait(fds, std::min(until, clock.now() + kRowPause));
  }
}

void end_session(Servers& servers, std::uint64_t id, Clock& clock) {
  Servers beside = servers.beside();
  if (Database* database = servers.current()) database->abandon();
  servers.drop();
  if (id != 0) (void)run_statement(beside, "KILL " + std::to_string(id), clock, clock.now() + kKillBudget);
}

bool is_live_session(Servers& servers, std::uint64_t id, Clock& clock, TimePoint until) {
  const auto found = run_statement(
      servers, "SELECT 1 FROM information_schema.PROCESSLIST WHERE ID=" + std::to_string(id), clock, until);
  return found && !found->rows.empty();
}

Result<std::vector<LockName>> live_names(Servers& servers, Strategy strategy, Clock& clock, TimePoint until) {
  const std::string kind = strategy_name(strategy);
  std::set<LockName> names;
  const auto held = run_statement(
      servers, "SELECT name FROM " + std::string(kLockTable) + " WHERE strategy='" + kind + "' AND holds>0", clock,
      until);
  if (!held) return held.error();
  for (const Row& row : held->rows) {
    if (auto name = LockName::parse(text_of(row, 0))) names.insert(*name);
  }
  const std::string begin = "SELECT /* dlock waits " + kind + " x'";
  const auto waited = run_statement(servers,
                                    "SELECT UNHEX(SUBSTRING_INDEX(SUBSTR(INFO," + std::to_string(begin.size() + 1) +
                                        "),'''',1)) FROM information_schema.PROCESSLIST WHERE LEFT(INFO," +
                                        std::to_string(begin.size()) + ")=" + literal(begin),
                                    clock, until);
  if (!waited) return waited.error();
  for (const Row& row : waited->rows) {
    if (auto name = LockName::parse(text_of(row, 0))) names.insert(*name);
  }
  return std::vector<LockName>(names.begin(), names.end());
}

Result<std::vector<LockName>> ended_names(Servers& servers, Strategy strategy, Clock& clock, TimePoint until) {
  const auto found =
      run_statement(servers,
                    "SELECT name FROM " + std::string(kLockTable) + " WHERE strategy='" + strategy_name(strategy) +
                        "' AND holds>0 AND expires<=UTC_TIMESTAMP(6) ORDER BY name",
                    clock, until);
  if (!found) return found.error();
  std::vector<LockName> names;
  for (const Row& row : found->rows) {
    if (auto name = LockName::parse(text_of(row, 0))) names.push_back(*name);
  }
  return names;
}

Result<UniqueFd> fence_row(Servers& servers, const LockName& resource, FencingToken token, Clock& clock,
                           TimePoint until) {
  const std::string name = literal(resource.text());
  const std::string table = kFenceTable;
  for (const std::string& statement :
       {"INSERT IGNORE INTO " + table + " SET name=" + name + ",token=" + token.text(),
        "UPDATE " + table + " SET token=" + token.text() + " WHERE name=" + name + " AND token<" + token.text()}) {
    if (const auto done = run_statement(servers, statement, clock, until); !done) return done.error();
  }
  const auto seen = run_statement(servers, "SELECT token FROM " + table + " WHERE name=" + name, clock, until);
  if (!seen) return seen.error();
  const std::string highest = seen->rows.empty() ? "?" : text_of(seen->rows[0], 0);
  if (highest == token.text()) return UniqueFd();
  return Error{ErrorCode::kLost,
               resource.text() + ": token " + token.text() + " is out of date, " + highest + " was seen"};
}

Result<std::vector<Swept>> sweep_rows(Servers& servers, Strategy strategy, bool dry_run, Clock& clock,
                                      TimePoint until) {
  const std::string table = kLockTable;
  const std::string idle = "strategy='" + std::string(strategy_name(strategy)) +
                           "' AND (holds=0 OR expires<=UTC_TIMESTAMP(6)) AND fence+" + kDayMicroseconds + "<" +
                           kServerMicroseconds;
  const auto found = run_statement(servers, "SELECT name FROM " + table + " WHERE " + idle, clock, until);
  if (!found) return found.error();
  std::vector<Swept> swept;
  for (std::size_t begin = 0; begin < found->rows.size(); begin += kAtOnce) {
    std::map<std::string, LockName> gone;
    std::string list;
    for (std::size_t i = begin; i < std::min(found->rows.size(), begin + kAtOnce); ++i) {
      const auto name = LockName::parse(text_of(found->rows[i], 0));
      if (!name) continue;
      gone.emplace(name->text(), *name);
      list += (list.empty() ? "" : ",") + literal(name->text());
    }
    if (!dry_run && !gone.empty()) {
      const std::string those =
          " WHERE strategy='" + std::string(strategy_name(strategy)) + "' AND name IN (" + list + ")";
      const auto done = run_statement(servers, "DELETE FROM " + table + those + " AND " + idle, clock, until);
      if (!done) return done.error();
      const auto left = run_statement(servers, "SELECT name FROM " + table + those, clock, until);
      if (!left) return left.error();
      for (const Row& row : left->rows) gone.erase(text_of(row, 0));
    }
    for (auto& [text, name] : gone) swept.push_back({name, "the row of a lock that nobody took for a day"});
  }
  return swept;
}

Result<std::string> set_up_tables(Servers& servers, const Settings& settings, bool print_only, Clock& clock,
                                  TimePoint until) {
  const std::string& database = settings.servers.front().database;
  if (print_only) return setup_script(database);
  const auto present = present_tables(servers, clock, until);
  if (!present) return present.error();
  std::string made;
  for (const Table& table : tables()) {
    if (present->contains(table.name)) continue;
    if (const auto done = run_statement(servers, table.create, clock, until); !done) return done.error();
    made += (made.empty() ? "" : ", ") + table.name;
  }
  // A server may put another engine in the place of the one that it was told.
  if (const auto fit = present_tables(servers, clock, until); !fit) return fit.error();
  if (made.empty()) return "the tables of dlock are there already in " + settings.store + "\n";
  return "created in " + settings.store + ": " + made + "\n";
}

}  // namespace dlock::mysql
