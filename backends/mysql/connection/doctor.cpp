// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connection/admin.h"

#include <algorithm>

#include "backends/mysql/connection/database.h"
#include "backends/mysql/connection/errors.h"
#include "backends/mysql/connection/schema.h"
#include "backends/mysql/connection/sql_text.h"
#include "lib/base/text.h"
#include "lib/net/findings.h"

namespace dlock::mysql {
namespace {

std::string value(const Variables& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string() : found->second;
}

bool is_on(const std::string& text) { return text == "ON" || text == "1"; }

Finding version(const std::string& server, const std::string& text) {
  const bool mariadb = text.find("MariaDB") != std::string::npos;
  const int major = leading_number<int>(text);
  const bool known = mariadb ? major >= 10 : major >= 8;
  if (known) return Finding::ok(server + ": version " + text);
  return Finding::warn(server + ": version " + text + " is untested", "use MariaDB 10.6 or later, or MySQL 8 or later");
}

bool is_replica(const Variables& variables) {
  return is_on(value(variables, "read_only")) || is_on(value(variables, "super_read_only"));
}

/// Of a server whose fellows take changes, too.
Finding one_of_several(const std::string& server, const std::string& kind, Strategy strategy) {
  const std::string what = server + ": " + kind;
  if (strategy == Strategy::kLease) return Finding::ok(what + ": waiters poll, in the order of arrival on all nodes");
  const bool bound = strategy == Strategy::kSession || strategy == Strategy::kRow;
  return bound ? Finding::fail(what, "locks of one server do not hold on the others: use strategy=lease")
               : Finding::ok(what);
}

Finding durability(const std::string& server, const std::string& flush) {
  if (flush == "1") return Finding::ok(server + ": a commit is on disk when it is answered");
  return Finding::warn(server + ": innodb_flush_log_at_trx_commit=" + flush + " may forget the latest locks in a crash",
                       "set innodb_flush_log_at_trx_commit=1");
}

/// Leases are taken by batches.
DatabaseSettings as_used(DatabaseSettings server, Strategy strategy) {
  server.batches = strategy == Strategy::kLease;
  return server;
}

class Examination {
 public:
  Examination(const DatabaseSettings& server, const Settings& settings, const Dial& dial, const Runtime& runtime)
      : server_(server),
        settings_(settings),
        runtime_(runtime),
        name_(server.endpoint.text()),
        database_(dial(as_used(server, settings.strategy))) {}

  std::vector<Finding> findings() {
    if (!take(await(*database_, runtime_.clock, soon(), nullptr))) return std::move(findings_);
    if (!measure()) return std::move(findings_);
    if (const auto cipher = ask_for("SHOW SESSION STATUS LIKE 'Ssl_cipher'")) {
      const bool there = !cipher->rows.empty() && cipher->rows[0].size() == 2;
      const std::string by = there ? cipher->rows[0][1].value_or("") : "";
      findings_.push_back(encryption_finding(server_.endpoint, !by.empty(), by));
    }
    settings();
    tables();
    if (!relieved_) rights();
    return std::move(findings_);
  }

 private:
  TimePoint soon() const { return runtime_.clock.now() + runtime_.patience; }

  std::optional<Answer> take(AnswerOrFailure outcome) {
    if (auto* answer = std::get_if<Answer>(&outcome)) return std::move(*answer);
    const Error error = error_of_login(std::get<Failure>(outcome), name_);
    findings_.push_back(Finding::fail(error));
    return std::nullopt;
  }
  std::optional<Answer> ask_for(const std::string& statement) {
    return take(ask(*database_, statement, runtime_.clock, soon(), nullptr));
  }

  bool measure() {
    const TimePoint before = runtime_.clock.now();
    const char* before_it = settings_.strategy == Strategy::kLease ? "DO 1;" : "";
    const auto time = ask_for(before_it + std::string("SELECT ") + kServerMicroseconds);
    if (!time || time->rows.empty()) return false;
    const auto wall = runtime_.clock.wall();
    const auto theirs = leading_number<std::int64_t>(text_of(time->rows[0], 0));
    findings_.push_back(answers_finding(name_, runtime_.clock.now() - before));
    findings_.push_back(clock_finding(name_, theirs, wall));
    return true;
  }

  void settings() {
    const auto shown = ask_for(
        "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version','read_only','super_read_only','wsrep_on',"
        "'innodb_flush_log_at_trx_commit','max_connections','innodb_read_only',"
        "'group_replication_single_primary_mode')");
    if (!shown) return;
    Variables variables;
    for (const Row& row : shown->rows) {
      if (row.size() == 2) variables[row[0].value_or("")] = row[1].value_or("");
    }
    relieved_ = is_replica(variables) && settings_.servers.size() > 1;
    const auto judged = judge_variables(name_, variables, settings_.strategy, settings_.servers.size() == 1);
    findings_.insert(findings_.end(), judged.begin(), judged.end());
  }

  void tables() {
    const auto found = ask_for(kinds_query(kOurTables));
    const auto keys = found ? ask_for(keys_query()) : std::nullopt;
    if (!keys) return;
    for (const Row& row : found->rows) {
      const auto fit = judge_engine(row);
      if (!fit) findings_.push_back(Finding::fail(name_ + ": " + fit.error().message, fit.error().next));
    }
    const std::string version = "dlock tables " + std::to_string(kSchemaVersion);
    std::string missing;
    for (const Table& table : mysql::tables()) {
      const auto same = [&](const Row& row) {
        return row[kTableName].value_or("") == table.name && row[kTableComment].value_or("") == version;
      };
      const bool there = std::any_of(found->rows.begin(), found->rows.end(), same);
      if (!there) missing += (missing.empty() ? "" : ", ") + table.name;
      const auto fit = there ? judge_key(table, *keys) : Result<void>();
      if (!fit) findings_.push_back(Finding::fail(name_ + ": " + fit.error().message, fit.error().next));
    }
    if (missing.empty()) findings_.push_back(Finding::ok(name_ + ": the tables of dlock exist"));
    else findings_.push_back(Finding::fail(name_ + ": missing, or of another version: " + missing, "dlock setup"));
    const RowTable& rows = settings_.rows;
    const auto columns = rows.is_users() ? ask_for(row_columns_query(rows, "")) : std::nullopt;
    if (!columns) return;
    const auto fit = judge_row_table(rows, *columns, name_);
    findings_.push_back(fit ? Finding::ok(name_ + ": the table " + rows.table + " fits") : Finding::fail(fit.error()));
  }

  /// Changes that change nothing: the right to make them is looked at first.
  void rights() {
    const std::string table = kDataTable;
    for (const std::string& statement :
         {"UPDATE " + table + " SET version=version WHERE space='' AND name=''",
          "DELETE FROM " + table + " WHERE space='' AND name=''",
          "INSERT INTO " + table + " SELECT * FROM " + table + " WHERE space='' AND name=''"}) {
      if (!ask_for(statement)) return;
    }
    findings_.push_back(Finding::ok(name_ + ": this user may change the tables"));
  }

  const DatabaseSettings& server_;
  const Settings& settings_;
  const Runtime runtime_;
  const std::string name_;
  std::unique_ptr<Database> database_;
  std::vector<Finding> findings_;
  bool relieved_ = false;  ///< a replica of another server of the URL, which takes the changes
};

}  // namespace

std::vector<Finding> judge_variables(const std::string& server, const Variables& variables, Strategy strategy,
                                     bool alone) {
  std::vector<Finding> findings;
  if (const auto text = value(variables, "version"); !text.empty()) findings.push_back(version(server, text));
  if (variables.contains("read_only"))
    findings.push_back(writes_finding(server, is_replica(variables), "a replica", alone, "mysql"));
  if (is_on(value(variables, "wsrep_on")))
    findings.push_back(one_of_several(server, "is a node of a Galera cluster", strategy));
  if (value(variables, "group_replication_single_primary_mode") == "OFF")
    findings.push_back(one_of_several(server, "is one of several primaries (Group Replication)", strategy));
  if (const auto flush = value(variables, "innodb_flush_log_at_trx_commit"); !flush.empty()) {
    findings.push_back(durability(server, flush));
  }
  if (const auto most = value(variables, "max_connections"); !most.empty())
    findings.push_back(connections_finding(server, most));
  return findings;
}

std::vector<Finding> diagnose_servers(const Settings& settings, const Dial& dial, const Runtime& runtime) {
  std::vector<Finding> findings;
  for (const DatabaseSettings& server : settings.servers) {
    const auto more = Examination(server, settings, dial, runtime).findings();
    findings.insert(findings.end(), more.begin(), more.end());
  }
  const bool galera = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.what.find("Galera") != std::string::npos;
  });
  if (!galera && are_several_writable(findings))
    findings.push_back(several_writable(settings.store, "set read_only=ON on every server but the primary"));
  return findings;
}

}  // namespace dlock::mysql
