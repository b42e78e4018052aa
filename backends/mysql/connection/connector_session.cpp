// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connection/connector_session.h"

#include <cppconn/exception.h>
#include <cppconn/resultset.h>
#include <cppconn/resultset_metadata.h>
#include <cppconn/statement.h>
#include <malloc.h>
#include <mariadb/errmsg.h>
#include <mariadb/mysql.h>
#include <mysql_connection.h>
#include <mysql_driver.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <mutex>

#include "backends/mysql/connection/errors.h"
#include "backends/mysql/connection/sql_text.h"

namespace dlock::mysql {
namespace {

constexpr int kSelectTooBig = 1104;
constexpr int kOutOfOrder = 1156;
constexpr int kInTransaction = 1568;
constexpr int kUnknownVariable = 1193;
constexpr int kNoBatches = 4501;                   ///< of a router that gives one connection to several clients
constexpr int kLongestStatement = 20 * 24 * 3600;  ///< s: who waits for a statement has its own, finer time

int whole_seconds(Duration d) {
  return static_cast<int>(std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(d).count()));
}

/// Options by these names only: the library takes unknown ones in silence. Not among them: OPT_RECONNECT (loses
/// everything in silence), OPT_SSL_MODE and sslEnforce (mean nothing, and plaintext follows).
sql::ConnectOptionsMap options_of(const DatabaseSettings& settings) {
  sql::ConnectOptionsMap options;
  const Endpoint& endpoint = settings.endpoint;
  if (endpoint.socket.empty()) {
    options["hostName"] = sql::SQLString(
        "tcp://" + (endpoint.host.find(':') == std::string::npos ? endpoint.host : "[" + endpoint.host + "]"));
    options["port"] = static_cast<int>(endpoint.port);
  } else {
    options["hostName"] = sql::SQLString("unix://" + endpoint.socket);
  }
  options["userName"] = sql::SQLString(settings.user);
  options["password"] = sql::SQLString(settings.password);
  options["schema"] = sql::SQLString(settings.database);
  options["OPT_CONNECT_TIMEOUT"] = whole_seconds(settings.connect_timeout);
  options["OPT_READ_TIMEOUT"] = kLongestStatement;
  options["OPT_WRITE_TIMEOUT"] = kLongestStatement;
  // The way to begin with, unless the guard takes that of the server's greeting; the server asks for another one if the
  // user has one.
  options["defaultAuth"] = sql::SQLString("mysql_native_password");
  if (settings.batches) options["CLIENT_MULTI_STATEMENTS"] = true;
  if (settings.tls) {
    options["sslCA"] = sql::SQLString(settings.tls->ca_file);
    options["sslVerify"] = true;
    if (!settings.tls->cert_file.empty()) options["sslCert"] = sql::SQLString(settings.tls->cert_file);
    if (!settings.tls->key_file.empty()) options["sslKey"] = sql::SQLString(settings.tls->key_file);
  }
  return options;
}

/// MariaDB has tx_isolation (and reads no comment for 5.7 and 8.0), MySQL 8 has transaction_isolation. What a server
/// sets for all its sessions, or init_connect, would cut answers and what is written short, end the connection with a
/// transaction, make the words of statements and the numbers of answers two bytes each, stop the clock, or end a wait.
/// A wait for a table ends after a second, and is begun again: a statement that waits keeps all that come after it.
/// Fails where init_connect has begun a transaction (the isolation of the next one alone, without SESSION, is refused
/// then) or has left the database (a number beyond all types is an error in every SQL mode).
std::string beginning_of(const DatabaseSettings& settings, bool with_galera) {
  std::string init =
      "SET SESSION /*M! tx_isolation*//*!50720 transaction_isolation*/='READ-COMMITTED',"
      "/*M! @@tx_isolation*//*!50720 @@transaction_isolation*/='READ-COMMITTED',"
      "@dlock_database=IF(DATABASE()=_utf8mb4 " +
      literal(settings.database) +
      ",1,~0+CONNECTION_ID()),sql_select_limit=18446744073709551615,completion_type='NO_CHAIN',"
      "sql_mode='STRICT_ALL_TABLES',"
      "character_set_client=utf8mb4,character_set_connection=utf8mb4,character_set_results=utf8mb4,timestamp=DEFAULT,"
      "lock_wait_timeout=1,wait_timeout=" +
      std::to_string(settings.idle_seconds) + "/*M!100108 ,max_statement_time=0*//*!50720 ,max_execution_time=0*/";
  // Changes must be possible where a server makes its sessions read-only by default.
  init += "/*M! ,tx_read_only=0*//*!50720 ,transaction_read_only=0*/";
  if (with_galera) init += "/*M! ,@dlock_galera=@@wsrep_on*/";
  // As a node of Galera is one that shares its writes with other primaries. Unknown where the plugin is not loaded.
  init +=
      "/*!50720 ,@dlock_galera=(SELECT COUNT(*) FROM performance_schema.global_variables WHERE "
      "VARIABLE_NAME='group_replication_single_primary_mode' AND VARIABLE_VALUE='OFF')*/";
  // A transaction that holds a lock has the same end as any other silent session.
  init +=
      "/*M!100300 ,idle_transaction_timeout=0,idle_readonly_transaction_timeout=0,idle_write_transaction_timeout=0*/";
  if (!settings.waits_for_rows) init += ",innodb_lock_wait_timeout=/*M! 0*//*!50720 1*/";
  return init;
}

Failure failure_of(const sql::SQLException& error) {
  const int code = error.getErrorCode();
  return {code, error.what(), is_cut_off(code), false};
}

class TooMuch : public std::exception {};

/// Takes as many fields as `left` says, and counts it down.
void read_rows(sql::Statement& statement, Answer& answer, std::size_t& left) {
  const std::unique_ptr<sql::ResultSet> rows(statement.getResultSet());
  const unsigned columns = rows->getMetaData()->getColumnCount();
  while (rows->next()) {
    if (columns > left) throw TooMuch();
    left -= columns;
    Row row;
    for (unsigned i = 1; i <= columns; ++i) {
      if (rows->isNull(i)) row.emplace_back();
      else row.emplace_back(std::string(rows->getString(i)));
    }
    answer.rows.push_back(std::move(row));
  }
}

/// The library shows neither the end of a batch nor the changes of its later statements.
Answer run(sql::Statement& statement, const std::string& text, bool batch, std::size_t fields) {
  Answer answer;
  bool rows = statement.execute(text);
  if (!rows) answer.changed = statement.getUpdateCount();
  for (std::ptrdiff_t more = batch ? std::count(text.begin(), text.end(), ';') : 0;; --more) {
    if (rows) read_rows(statement, answer, fields);
    if (more == 0) return answer;
    rows = statement.getMoreResults();
  }
}

/// MariaDB answers each statement of a batch with a packet of its own, and wakes us for it; not those of a block. Other
/// servers see comments. Both end with the first failure.
std::string as_block(const std::string& batch) {
  return "/*M!100108 BEGIN NOT ATOMIC */" + batch + "/*M!100108 ;END */";
}

sql::Driver* driver() {
  static sql::Driver* const instance = sql::mysql::get_driver_instance();
  return instance;
}

std::mutex threads_mutex;
int threads_inside = 0;  ///< between the beginning of a session and its end

/// The library's driver is destroyed at the end of the process, which waits for no thread: where one is still inside,
/// the process ends without that.
void end_process(int status, void* /*unused*/) {
  {
    const std::lock_guard hold(threads_mutex);
    if (threads_inside == 0) return;
  }
  std::fflush(nullptr);
  _exit(status);
}

}  // namespace

void ConnectorSession::prepare_library() {
  mallopt(M_ARENA_MAX, 1);  // a thread with an arena of its own takes half the address space of a keeper
  driver();
  on_exit(end_process, nullptr);  // after the driver, so that it is called before the driver goes
  WireGuard::watch_library();
}

ConnectorSession::ConnectorSession(const DatabaseSettings& settings, WireGuard& guard)
    : settings_(settings), guard_(guard) {
  {
    const std::lock_guard hold(threads_mutex);
    ++threads_inside;
  }
  guard_.enter();
  driver()->threadInit();
}

ConnectorSession::~ConnectorSession() {
  try {
    statement_.reset();
    if (connection_) connection_->close();
    connection_.reset();
  } catch (const std::exception&) {
    // Nothing more can be wanted of it.
  }
  driver()->threadEnd();
  WireGuard::leave();
  const std::lock_guard hold(threads_mutex);
  --threads_inside;
}

Failure ConnectorSession::too_much() const {
  return {kTooMuch, "more than " + std::to_string(settings_.longest_answer / 1024) + " KiB", true, false};
}

bool ConnectorSession::ended_behind_certificate(const AnswerOrFailure& outcome) const {
  const auto* failure = std::get_if<Failure>(&outcome);
  return failure && settings_.tls && !settings_.tls->cert_file.empty() && may_be_refused(*failure);
}

AnswerOrFailure ConnectorSession::connect() {
  guard_.allow(settings_.longest_answer);
  AnswerOrFailure outcome = try_to_connect();
  if (ended_behind_certificate(outcome)) {  // a reset can overtake the alert that says why
    guard_.forget();
    outcome = try_to_connect();
    if (ended_behind_certificate(outcome)) std::get<Failure>(outcome).code = kUnanswered;
  }
  if (auto* failure = std::get_if<Failure>(&outcome)) {
    if (guard_.overrun()) *failure = too_much();
    failure->cut_off = true;
  }
  return outcome;
}

/// Where sessions begin with a small max_join_size the library's own questions are refused; so it is set to ask for
/// more before them, which is a round trip. A server that knows the user by the socket says yes without a look at a
/// password, which the library does not understand.
void ConnectorSession::open() {
  auto options = options_of(settings_);
  try {
    connection_.reset(driver()->connect(options));
  } catch (const sql::SQLException& error) {
    const int code = error.getErrorCode();
    if (code == kSelectTooBig) options["preInit"] = sql::SQLString("SET sql_big_selects=1");
    else if (code == kOutOfOrder && !settings_.endpoint.socket.empty()) options["password"] = sql::SQLString();
    else throw;
    guard_.forget();
    connection_.reset(driver()->connect(options));
  }
}

/// Out of what init_connect has begun: a transaction, another database. A MariaDB that was built without Galera does
/// not know its variable.
void ConnectorSession::begin(bool with_galera) {
  const std::string beginning = beginning_of(settings_, with_galera);
  try {
    statement_->execute(beginning);
  } catch (const sql::SQLException& error) {
    if (error.getErrorCode() == kUnknownVariable && with_galera) return begin(false);
    if (error.getErrorCode() != kInTransaction && error.getErrorCode() != kOutOfRange) throw;
    statement_->execute("ROLLBACK");
    statement_->execute("USE " + identifier(settings_.database));
    statement_->execute(beginning);
  }
}

AnswerOrFailure ConnectorSession::try_to_connect() {
  try {
    open();
    statement_.reset(connection_->createStatement());
    begin(true);
    if (settings_.tls && !is_encrypted()) return Failure{kTlsError, "the server speaks no TLS here", true, false};
    return Answer{};
  } catch (const sql::SQLException& error) {
    // The library's text names something else.
    if (error.getErrorCode() == CR_PLUGIN_NOT_ALLOWED)
      return Failure{kLoginRefused, guard_.refused_login(), true, false};
    if (const std::string why = guard_.aborted(); !why.empty()) return Failure{kAborted, why, true, false};
    return failure_of(error);
  } catch (const std::exception& error) {
    return Failure{0, error.what(), true, false};
  }
}

/// Defence in depth: sslVerify has been asked for, and the library is believed only when the server agrees.
bool ConnectorSession::is_encrypted() {
  const Answer answer = run(*statement_, "SHOW SESSION STATUS LIKE 'Ssl_cipher'", false, 2);
  return !answer.rows.empty() && answer.rows[0].size() == 2 && !answer.rows[0][1].value_or("").empty();
}

/// Where batches are refused their statements are sent one by one: all of that is refused before any of it is done.
Answer ConnectorSession::run_batch(const std::string& text) {
  const std::size_t fields = settings_.longest_answer / 16;
  try {
    if (takes_batches_) return run(*statement_, as_block(text), true, fields);
  } catch (const sql::SQLException& error) {
    if (error.getErrorCode() != kNoBatches) throw;
    takes_batches_ = false;
  }
  Answer all;
  bool first = true;
  for (std::string_view rest = text; !rest.empty();) {
    Answer one = run(*statement_, std::string(cut(rest, ';')), false, fields);
    if (std::exchange(first, false)) all.changed = one.changed;
    std::move(one.rows.begin(), one.rows.end(), std::back_inserter(all.rows));
  }
  return all;
}

AnswerOrFailure ConnectorSession::execute(const std::string& text) {
  if (!statement_) return Failure{0, "not connected", true, false};
  guard_.allow(settings_.longest_answer);
  try {
    const bool batch = settings_.batches && text.find(';') != std::string::npos;
    Answer answer = batch ? run_batch(text) : run(*statement_, text, false, settings_.longest_answer / 16);
    if (guard_.has_more()) return Failure{0, "more than one answer", true, false};
    if (answer.changed > 0 && !batch) answer.number = guard_.number();
    if (!guard_.overrun()) return answer;
  } catch (const TooMuch&) {
    return too_much();
  } catch (const sql::SQLException& error) {
    if (!guard_.overrun()) return failure_of(error);
  } catch (const std::exception& error) {
    if (!guard_.overrun()) return Failure{0, error.what(), true, false};
  }
  return too_much();
}

}  // namespace dlock::mysql
