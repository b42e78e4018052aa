// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/bound/row_blockers.h"

#include <algorithm>

#include "backends/mysql/connection/database.h"
#include "backends/mysql/connection/errors.h"
#include "backends/mysql/connection/sql_text.h"
#include "lib/base/text.h"

namespace dlock::mysql {
namespace {

using namespace std::chrono_literals;

/// InnoDB shows what it saw last to whoever asks again within 100 ms.
constexpr Duration kViewPause = 120ms;
constexpr Duration kLongestSearch = 1500ms;
constexpr int kUnseenTries = 5;  ///< of a wait that the server does not show, as for a lock of a whole table
/// Lifetime of our waiting session, should we die.
constexpr char kProbeTimes[] = "SET SESSION innodb_lock_wait_timeout=2,lock_wait_timeout=2";

/// Where a server says who waits for whom, and what it wants for that besides the right PROCESS.
struct Waits {
  const char* table;
  const char* requesting;
  const char* blocking;
  const char* blocking_lock;
  const char* schema;  ///< to SELECT from; nullptr: nothing
};
constexpr Waits kMariaDb{"information_schema.INNODB_LOCK_WAITS", "w.requesting_trx_id", "w.blocking_trx_id",
                         "w.blocking_lock_id", nullptr};
constexpr Waits kMySql8{"performance_schema.data_lock_waits", "w.REQUESTING_ENGINE_TRANSACTION_ID",
                        "w.BLOCKING_ENGINE_TRANSACTION_ID", "w.BLOCKING_ENGINE_LOCK_ID", "performance_schema"};

/// Skips sessions queued ahead of us: they block us only by the lock they request. MariaDB has one
/// number, 0, for all transactions that have only shared locks.
std::string blockers_of(const Waits& waits, std::uint64_t session) {
  return std::string("SELECT DISTINCT b.trx_mysql_thread_id,p.USER,p.HOST,") + kServerMicroseconds +
         "-1000000*TIMESTAMPDIFF(SECOND,b.trx_started,NOW()) FROM " + waits.table +
         " AS w JOIN information_schema.INNODB_TRX AS r ON r.trx_id=" + waits.requesting +
         " LEFT JOIN information_schema.INNODB_TRX AS b ON b.trx_id=" + waits.blocking + " AND " + waits.blocking +
         "<>0 LEFT JOIN information_schema.PROCESSLIST AS p ON p.ID=b.trx_mysql_thread_id WHERE r.trx_id<>0 AND "
         "r.trx_mysql_thread_id=" +
         std::to_string(session) + " AND (b.trx_requested_lock_id IS NULL OR b.trx_requested_lock_id<>" +
         waits.blocking_lock + ")";
}

std::vector<RowBlocker> blockers_in(const Answer& answer) {
  std::vector<RowBlocker> blockers;
  for (const Row& row : answer.rows) {
    if (row.size() != 4) continue;
    RowBlocker blocker{
        leading_number<std::uint64_t>(row[0].value_or("")), row[1].value_or(""), row[2].value_or(""), {}};
    if (row[3]) blocker.since = leading_number<std::int64_t>(*row[3]);
    blockers.push_back(std::move(blocker));
  }
  return blockers;
}

/// One search: `servers` asks, a connection beside it waits.
class Search {
 public:
  Search(Servers& servers, TimePoint until)
      : servers_(servers), probe_(servers.beside()), clock_(servers.clock()), until_(until) {}
  ~Search();

  /// Finds out how this server is asked, and whether we may.
  Result<void> begin();
  Result<std::vector<RowBlocker>> find(const std::string& locking_query);

 private:
  Error denied() const;
  Result<void> wait_for(const std::string& locking_query);
  bool still_waits();

  Servers& servers_;
  Servers probe_;
  Clock& clock_;
  const TimePoint until_;
  const Waits* waits_ = &kMariaDb;
  std::uint64_t session_ = 0;  ///< of the one that waits
};

/// The server does not notice in a wait for a row that its client has gone.
Search::~Search() {
  if (session_ != 0) probe_.end_session(session_);
}

/// The time of a transaction is in the server's own zone.
Result<void> Search::begin() {
  const auto zone = servers_.run("SET SESSION time_zone='SYSTEM'", until_);
  if (!zone) return zone.error();
  for (const Waits* waits : {&kMariaDb, &kMySql8}) {
    waits_ = waits;
    const Outcome outcome = ask(*servers_.current(), blockers_of(*waits, 0), clock_, until_, nullptr);
    const auto* failure = std::get_if<Failure>(&outcome);
    if (!failure) return {};
    if (waits == &kMariaDb && is_unknown_view(failure->code)) continue;
    Error error = servers_.failed(*failure);
    if (error.code != ErrorCode::kDenied) return error;
    return denied();
  }
  return {};
}

Error Search::denied() const {
  const std::string account = servers_.all().front().user;
  std::string right = "PROCESS";
  std::string grant = "GRANT PROCESS ON *.* TO " + account;
  if (waits_->schema != nullptr) {
    right += " and SELECT on " + std::string(waits_->schema);
    grant += "; GRANT SELECT ON " + std::string(waits_->schema) + ".* TO " + account;
  }
  return {ErrorCode::kDenied,
          "the server says which session has locked the row only to accounts with the right " + right + ", which " +
              account + " does not have",
          "an administrator can " + grant + ", or find the session and end it with KILL"};
}

Result<void> Search::wait_for(const std::string& locking_query) {
  const auto database = probe_.connect(until_, nullptr);
  if (!database) return database.error();
  std::uint64_t session = 0;
  for (const char* statement : {kProbeTimes, "SELECT CONNECTION_ID()", "START TRANSACTION"}) {
    const Outcome outcome = ask(**database, statement, clock_, until_, nullptr);
    if (const auto* failure = std::get_if<Failure>(&outcome)) return error_of(*failure, probe_.server());
    const auto& rows = std::get<Answer>(outcome).rows;
    if (!rows.empty() && !rows[0].empty()) session = leading_number<std::uint64_t>(rows[0][0].value_or("0"));
  }
  (*database)->begin(locking_query);
  session_ = session;
  return {};
}

/// False: the row is free by now, or the wait was ended.
bool Search::still_waits() {
  const TimePoint next = std::min(until_, clock_.now() + kViewPause);
  while (clock_.now() < next) {
    if (probe_.current()->outcome()) return false;
    std::vector<pollfd> fds;
    probe_.current()->add_interest(fds);
    clock_.wait(fds, next);
  }
  return !probe_.current()->outcome();
}

Result<std::vector<RowBlocker>> Search::find(const std::string& locking_query) {
  if (const auto waits = wait_for(locking_query); !waits) return waits.error();
  std::vector<RowBlocker> blockers;
  for (int i = 0; i < kUnseenTries && blockers.empty() && clock_.now() < until_ && still_waits(); ++i) {
    const auto answer = servers_.run(blockers_of(*waits_, session_), until_);
    if (!answer) return answer.error();
    blockers = blockers_in(*answer);
  }
  return blockers;
}

}  // namespace

Result<std::vector<RowBlocker>> row_blockers(Servers& servers, const std::string& locking_query, TimePoint until) {
  Search search(servers, std::min(until, servers.clock().now() + kLongestSearch));
  if (const auto fit = search.begin(); !fit) return fit.error();
  return search.find(locking_query);
}

}  // namespace dlock::mysql
