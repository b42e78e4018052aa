// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connection/connector_database.h"

#include <cppconn/exception.h>
#include <cppconn/resultset.h>
#include <cppconn/resultset_metadata.h>
#include <cppconn/statement.h>
#include <mysql_connection.h>
#include <mysql_driver.h>
#include <algorithm>

#include "backends/mysql/connection/errors.h"
#include "backends/mysql/connection/fiber.h"

namespace dlock::mysql {
namespace {

constexpr int kLongestStatement = 3600;  ///< s: who waits for a statement has its own, finer time

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
  // MariaDB has tx_isolation (and reads no comment for 5.7 and 8.0), MySQL 8 has transaction_isolation.
  std::string init = "SET SESSION /*M! tx_isolation*//*!50720 transaction_isolation*/='READ-COMMITTED',wait_timeout=" +
                     std::to_string(settings.idle_seconds);
  if (!settings.waits_for_rows) init += ",innodb_lock_wait_timeout=/*M! 0*//*!50720 1*/";
  options["postInit"] = sql::SQLString(init);
  if (settings.batches) options["CLIENT_MULTI_STATEMENTS"] = true;
  if (settings.tls) {
    options["sslCA"] = sql::SQLString(settings.tls->ca_file);
    options["sslVerify"] = true;
    if (!settings.tls->cert_file.empty()) options["sslCert"] = sql::SQLString(settings.tls->cert_file);
    if (!settings.tls->key_file.empty()) options["sslKey"] = sql::SQLString(settings.tls->key_file);
  }
  return options;
}

Failure failure_of(const sql::SQLException& error) {
  const int code = error.getErrorCode();
  return {code, error.what(), is_cut_off(code), false};
}

/// The server has answered with more than is taken.
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

/// The library tells neither the end of a batch nor what its later statements have changed.
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

/// Every call of the library is made inside `fiber_`.
class ConnectorDatabase final : public Database {
 public:
  explicit ConnectorDatabase(const DatabaseSettings& settings) : settings_(settings) {
    run([this] { return connect(); });
  }

  ~ConnectorDatabase() override {
    fiber_.cancel();  // what runs; from now on nothing is waited for, and a goodbye goes out as far as it can
    if (fiber_.valid()) fiber_.start([this] { hang_up(); });
  }
  ConnectorDatabase(const ConnectorDatabase&) = delete;
  ConnectorDatabase& operator=(const ConnectorDatabase&) = delete;

  void begin(std::string statement) override {
    run([this, text = std::move(statement)] { return execute(text); });
  }

  std::optional<Outcome> outcome() override {
    if (fiber_.running()) fiber_.resume();
    auto outcome = std::exchange(outcome_, std::nullopt);
    if (outcome) {
      busy_ = false;
      const auto* failure = std::get_if<Failure>(&*outcome);
      broken_ = broken_ || (failure && failure->cut_off);
    }
    return outcome;
  }

  void add_interest(std::vector<pollfd>& fds) const override {
    if (fiber_.running()) fiber_.add_interest(fds);
    else if (!broken_ && fiber_.socket() >= 0) fds.push_back({fiber_.socket(), POLLIN | POLLRDHUP, 0});
  }

  void abandon() override {
    broken_ = true;
    fiber_.cancel();
  }

  bool usable() override {
    if (broken_) return false;
    if (busy_) return true;
    pollfd fd{fiber_.socket(), POLLIN | POLLRDHUP, 0};
    // A server that has something to say unasked has one thing to say.
    if (fd.fd < 0 || (poll(&fd, 1, 0) > 0 && fd.revents != 0)) broken_ = true;
    return !broken_;
  }

 private:
  template <typename Call>
  void run(Call call) {
    busy_ = true;
    if (!fiber_.valid()) outcome_ = Failure{0, "no memory for a connection", true, false};
    else if (broken_) outcome_ = Failure{0, "the connection is closed", true, true};
    else start(std::move(call));
  }

  template <typename Call>
  void start(Call call) {
    fiber_.allow(settings_.longest_answer);
    fiber_.start([this, call = std::move(call)] { outcome_ = judged(call()); });
  }

  /// What was abandoned is cut off, whatever the library says of it; and what has said too much.
  Outcome judged(Outcome outcome) const {
    if (fiber_.overrun()) outcome = too_much();
    const bool login = !statement_ && !fiber_.refused_login().empty();
    if (login && std::holds_alternative<Failure>(outcome)) {
      outcome = Failure{kLoginRefused, fiber_.refused_login(), true, false};
    }
    if (auto* failure = std::get_if<Failure>(&outcome)) {
      failure->cancelled = fiber_.cancelled();
      failure->cut_off = failure->cut_off || failure->cancelled;
    }
    return outcome;
  }

  Failure too_much() const {
    return {kTooMuch, "more than " + std::to_string(settings_.longest_answer / 1024) + " KiB", true, false};
  }

  Outcome connect() {
    try {
      auto options = options_of(settings_);
      connection_.reset(driver()->connect(options));
      statement_.reset(connection_->createStatement());
      if (settings_.tls && !is_encrypted()) return Failure{kTlsError, "the server speaks no TLS here", true, false};
      return Answer{};
    } catch (const sql::SQLException& error) {
      Failure failure = failure_of(error);
      failure.cut_off = true;
      return failure;
    } catch (const std::exception& error) {
      return Failure{0, error.what(), true, false};
    }
  }

  /// Defence in depth: sslVerify has been asked for, and the library is believed only when the server agrees.
  bool is_encrypted() {
    const Answer answer = mysql::run(*statement_, "SHOW SESSION STATUS LIKE 'Ssl_cipher'", false, 2);
    return !answer.rows.empty() && answer.rows[0].size() == 2 && !answer.rows[0][1].value_or("").empty();
  }

  Outcome execute(const std::string& text) {
    if (!statement_) return Failure{0, "not connected", true, false};
    try {
      const bool batch = settings_.batches && text.find(';') != std::string::npos;
      return mysql::run(*statement_, batch ? as_block(text) : text, batch, settings_.longest_answer / 16);
    } catch (const TooMuch&) {
      return too_much();
    } catch (const sql::SQLException& error) {
      return failure_of(error);
    } catch (const std::exception& error) {
      return Failure{0, error.what(), true, false};
    }
  }

  void hang_up() {
    try {
      statement_.reset();
      if (connection_) connection_->close();
      connection_.reset();
    } catch (const std::exception&) {
      // Nothing more can be wanted of it.
    }
  }

  const DatabaseSettings settings_;
  std::unique_ptr<sql::Connection> connection_;
  std::unique_ptr<sql::Statement> statement_;
  std::optional<Outcome> outcome_;
  bool busy_ = false;  ///< begun, and its outcome not taken
  bool broken_ = false;
  Fiber fiber_;  // the last: what it runs uses all of the above
};

}  // namespace

std::unique_ptr<Database> connect_by_connector(const DatabaseSettings& settings) {
  return std::make_unique<ConnectorDatabase>(settings);
}

}  // namespace dlock::mysql
