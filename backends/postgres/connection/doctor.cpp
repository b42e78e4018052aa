// SPDX-License-Identifier: Apache-2.0
#include "backends/postgres/connection/doctor.h"

#include "backends/postgres/connection/schema.h"
#include "lib/base/text.h"
#include "lib/net/findings.h"

namespace dlock::postgres {
namespace {

constexpr int kOldestVersion = 120000;

/// What is asked of a server, and where each stands in the answer.
constexpr char kAskSettings[] =
    ",current_setting('server_version_num'),pg_is_in_recovery() OR current_setting('transaction_read_only')='on',"
    "current_setting('fsync'),current_setting('full_page_writes'),"
    "current_setting('synchronous_standby_names')='' AND EXISTS(SELECT FROM pg_stat_replication),"
    "current_setting('max_connections'),current_setting('server_version'),"
    "CASE WHEN to_regclass('dlock_rows') IS NULL THEN true ELSE"
    " (SELECT bool_and(has_table_privilege('dlock_rows',r)) FROM unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) AS r)"
    " AND (SELECT bool_and(has_function_privilege(oid,'EXECUTE')) FROM pg_proc"
    " WHERE oid IN (to_regproc('dlock_commit'),to_regproc('dlock_sum'))) END";
enum Column : std::uint8_t { kClock, kVersion, kReadOnly, kFsync, kPages, kAsynchronous, kMost, kVersionText, kRights };

Settings only(const Settings& settings, const Endpoint& server) {
  Settings one = settings;
  one.servers = {server};
  return one;
}

class Examination {
 public:
  Examination(const Settings& settings, const Endpoint& server, const Runtime& runtime)
      : settings_(settings),
        endpoint_(server),
        runtime_(runtime),
        servers_(only(settings, server), runtime.clock),
        name_(server.text() + ": ") {}

  std::vector<Finding> findings() {
    if (const auto connected = servers_.connect(soon()); !connected) return {Finding::fail(connected.error())};
    add(encryption_finding(endpoint_, servers_.current()->is_encrypted()));
    if (const auto answer = measured(); !answer) add(Finding::fail(answer.error()));
    else judge(answer->front());
    return std::move(findings_);
  }

 private:
  CallLimit soon() const { return {runtime_.clock.now() + runtime_.patience}; }
  void add(Finding finding) { findings_.push_back(std::move(finding)); }

  Result<Answer> measured() {
    const TimePoint before = runtime_.clock.now();
    auto answer = servers_.run(std::string("SELECT ") + kNow + kAskSettings, {}, soon());
    const auto wall = runtime_.clock.wall();
    if (!answer) return answer;
    const auto theirs = leading_number<std::int64_t>(text_of(answer->front(), kClock));
    add(answers_finding(endpoint_.text(), runtime_.clock.now() - before));
    add(clock_finding(endpoint_.text(), theirs, wall));
    return answer;
  }

  void judge(const Row& row) {
    if (leading_number<int>(text_of(row, kVersion)) >= kOldestVersion)
      add(Finding::ok(name_ + "version " + text_of(row, kVersionText)));
    else
      add(Finding::fail(name_ + "version " + text_of(row, kVersionText) + " is too old", "use PostgreSQL 12 or later"));
    const bool read_only = text_of(row, kReadOnly) == "t";
    add(writes_finding(endpoint_.text(), read_only, "a standby", settings_.servers.size() == 1, "postgres"));
    if (read_only) return;
    durability(row);
    add(connections_finding(endpoint_.text(), text_of(row, kMost)));
    pooler();
    tables(text_of(row, kRights) == "t");
  }

  void durability(const Row& row) {
    if (text_of(row, kFsync) != "on" || text_of(row, kPages) != "on")
      add(Finding::warn(name_ + "fsync or full_page_writes is off: a crash of the machine may undo grants",
                        "set both on there"));
    else add(Finding::ok(name_ + "a grant is on disk when it is answered"));
    if (text_of(row, kAsynchronous) == "t")
      add(Finding::warn(name_ + "has asynchronous standbys: the promotion of one may undo the latest grants",
                        "set synchronous_standby_names there"));
  }

  void pooler() {
    const auto pooled = servers_.is_pooled(soon());
    if (!pooled) return add(Finding::fail(pooled.error()));
    if (!*pooled) return;
    const std::string what = name_ + "is a pooler: ";
    if (settings_.strategy == Strategy::kSession)
      add(Finding::fail(what + "a lock would be that of a connection which others use", "name the server itself"));
    else
      add(Finding::warn(what + "who waits is not told, and looks now and then", "name the server itself in the URL"));
  }

  void tables(bool has_rights) {
    const auto there = check_schema(servers_, soon());
    if (!there) return add(Finding::fail(name_ + there.error().message, there.error().next, there.error().code));
    add(Finding::ok(name_ + "the table of dlock exists"));
    if (has_rights) add(Finding::ok(name_ + "this user may change it"));
    else
      add(Finding::fail(name_ + "this user may not change the table dlock_rows, or not by dlock_commit and dlock_sum",
                        "the privileges that are needed: dlock setup --print", ErrorCode::kDenied));
  }

  const Settings& settings_;
  const Endpoint& endpoint_;
  const Runtime runtime_;
  Servers servers_;
  const std::string name_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> diagnose_servers(const Settings& settings, const Runtime& runtime) {
  std::vector<Finding> findings;
  for (const Endpoint& server : settings.servers) {
    const auto more = Examination(settings, server, runtime).findings();
    findings.insert(findings.end(), more.begin(), more.end());
  }
  if (are_several_writable(findings))
    findings.push_back(several_writable(settings.store, "name the servers of one cluster only"));
  return findings;
}

}  // namespace dlock::postgres
