// SPDX-License-Identifier: Apache-2.0
#include "backends/postgres/connection/connection.h"

#include <netdb.h>
#include <postgresql/libpq-fe.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace dlock::postgres {
namespace {

constexpr char kNoFile[] = "/dev/null/none";  ///< instead of one in the home directory
constexpr int kWithRequiredAuth = 160000;

/// libpq takes from the environment what it is not told. It is only hidden: a command may be started from here.
class WithoutVariables {
 public:
  WithoutVariables() {
    for (char** one = environ; *one != nullptr; ++one) {
      if (std::strncmp(*one, "PG", 2) != 0) kept_.push_back(*one);
    }
    kept_.push_back(nullptr);
    environ = kept_.data();
  }
  ~WithoutVariables() { environ = all_; }

 private:
  char** all_ = environ;
  std::vector<char*> kept_;
};

std::string number_text(const Address& address) {
  char text[NI_MAXHOST] = "";
  getnameinfo(address.get(), address.size, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  return text;
}

using Options = std::vector<std::pair<const char*, std::string>>;

/// Without a certificate to check, a server that asks for the password itself does not get it (libpq 16 and later).
Options options_of(const Settings& settings, const Endpoint& endpoint, const Address* address, bool writable) {
  const bool secure = settings.tls.has_value();
  const TlsSettings tls = settings.tls.value_or(TlsSettings());
  const std::string& name = tls.server_name.empty() ? endpoint.host : tls.server_name;
  Options options{{"host", address ? name : endpoint.socket},
                  {"hostaddr", address ? number_text(*address) : ""},
                  {"port", std::to_string(endpoint.port)},
                  {"user", settings.user},
                  {"dbname", settings.database},
                  {"password", settings.password},
                  {"passfile", kNoFile},
                  {"client_encoding", "UTF8"},
                  {"application_name", "dlock"},
                  {"target_session_attrs", writable ? "read-write" : "any"},
                  {"gssencmode", "disable"},
                  {"sslmode", secure ? "verify-full" : "disable"},
                  {"sslrootcert", secure ? tls.ca_file : kNoFile},
                  {"sslcert", tls.cert_file.empty() ? kNoFile : tls.cert_file},
                  {"sslkey", tls.key_file.empty() ? kNoFile : tls.key_file},
                  {"sslcrl", kNoFile},
                  // A broken connection must be noticed while nothing is to be sent.
                  {"keepalives_idle", "15"},
                  {"keepalives_interval", "5"},
                  {"keepalives_count", "3"},
                  {"tcp_user_timeout", "20000"}};
  if (!secure && address && PQlibVersion() >= kWithRequiredAuth) options.push_back({"require_auth", "!password"});
  return options;
}

pg_conn* start(const Options& options) {
  std::vector<const char*> names, values;
  for (const auto& [name, value] : options) {
    names.push_back(name);
    values.push_back(value.c_str());
  }
  names.push_back(nullptr);
  values.push_back(nullptr);
  const WithoutVariables hidden;
  return PQconnectStartParams(names.data(), values.data(), 0);
}

/// The last words count: the server's, after what was tried and where.
Failure failed_login(pg_conn* connection) {
  std::string said = PQerrorMessage(connection);
  Failure failure{state_in(said), {}, true};
  if (failure.state.empty() && PQconnectionNeedsPassword(connection)) failure.state = "28P01";
  for (const std::string_view before : {" failed: ", "FATAL:  ", "ERROR:  "}) {
    if (before.front() == ' ' && !said.starts_with("connection to server")) continue;
    if (const auto at = said.find(before); at != std::string::npos) said.erase(0, at + before.size());
  }
  if (said.starts_with(failure.state + ":")) said.erase(0, std::min(said.size(), failure.state.size() + 2));
  failure.text = said.substr(0, said.find('\n'));
  return failure;
}

Failure failure_of(const PGresult* result) {
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  return {state ? state : "", text ? text : PQresultErrorMessage(result)};
}

void add_rows(Answer& rows, const PGresult* result) {
  for (int r = 0; r < PQntuples(result); ++r) {
    Row& row = rows.emplace_back();
    for (int c = 0; c < PQnfields(result); ++c) {
      row.emplace_back(PQgetvalue(result, r, c), static_cast<std::size_t>(PQgetlength(result, r, c)));
    }
  }
}

}  // namespace

std::variant<std::unique_ptr<Connection>, Failure> Connection::open(const Settings& settings, const Endpoint& endpoint,
                                                                    const Address* address, bool writable, Clock& clock,
                                                                    const CallLimit& limit) {
  pg_conn* begun = start(options_of(settings, endpoint, address, writable));
  if (begun == nullptr) return Failure{"53200", "no memory for a connection", true};
  std::unique_ptr<Connection> made(new Connection(begun, clock));
  PQsetErrorVerbosity(begun, PQERRORS_VERBOSE);
  PQsetNoticeProcessor(
      begun, [](void* /*self*/, const char* /*text*/) {}, nullptr);
  if (auto failure = made->finish_login(limit)) return std::move(*failure);
  return made;
}

Connection::~Connection() { close(); }

void Connection::close() {
  if (connection_) PQfinish(connection_);
  connection_ = nullptr;
}

bool Connection::usable() const { return connection_ && PQstatus(connection_) == CONNECTION_OK; }

bool Connection::is_encrypted() const { return connection_ && PQsslInUse(connection_); }

std::optional<Failure> Connection::finish_login(const CallLimit& limit) {
  AnswerWait wait(clock_, limit.until, limit.control);
  for (auto next = PGRES_POLLING_WRITING; next != PGRES_POLLING_OK; next = PQconnectPoll(connection_)) {
    if (next == PGRES_POLLING_FAILED || PQstatus(connection_) == CONNECTION_BAD) return failed_login(connection_);
    if (auto failure = await(next == PGRES_POLLING_READING ? POLLIN : POLLOUT, wait)) return failure;
  }
  PQsetnonblocking(connection_, 1);
  backend_ = PQbackendPID(connection_);
  return std::nullopt;
}

std::optional<Failure> Connection::await(short events, AnswerWait& wait) {
  while (!wait.is_over()) {
    std::vector<pollfd> fds{{PQsocket(connection_), events, 0}};
    wait.poll(fds);
    if (fds[0].revents != 0) return std::nullopt;
  }
  close();
  return Failure{"", "no answer in time", true, true};
}

Failure Connection::broken() {
  Failure failure{"", PQerrorMessage(connection_), true};
  if (failed_) failure = {failed_->state, failed_->text, true};
  close();
  return failure;
}

std::optional<Failure> Connection::begin(const std::string& statement, const std::vector<std::string>& params) {
  if (!connection_) return Failure{"", "the connection has ended", true};
  std::vector<const char*> values;
  for (const std::string& param : params) values.push_back(param.c_str());
  rows_.clear();
  failed_.reset();
  const int count = static_cast<int>(params.size());
  const int sent = count == 0 ? PQsendQuery(connection_, statement.c_str())
                              : PQsendQueryParams(connection_, statement.c_str(), count, nullptr, values.data(),
                                                  nullptr, nullptr, 0);
  if (!sent) return broken();
  return std::nullopt;
}

std::optional<AnswerOrFailure> Connection::take() {
  if (!connection_) return Failure{"", "the connection has ended", true};
  if (PQflush(connection_) < 0 || !PQconsumeInput(connection_)) return broken();
  while (!PQisBusy(connection_)) {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQgetResult(connection_), PQclear);
    if (!result && !failed_) return std::exchange(rows_, {});
    if (!result) return usable() ? *failed_ : broken();
    const auto status = PQresultStatus(result.get());
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) add_rows(rows_, result.get());
    else failed_ = failure_of(result.get());
  }
  return std::nullopt;
}

AnswerOrFailure Connection::ask(const std::string& statement, const std::vector<std::string>& params,
                                const CallLimit& limit) {
  if (auto failure = begin(statement, params)) return std::move(*failure);
  AnswerWait wait(clock_, limit.until, limit.control);
  while (true) {
    if (auto outcome = take()) return std::move(*outcome);
    const bool unsent = PQflush(connection_) > 0;
    if (auto failure = await(static_cast<short>(unsent ? POLLIN | POLLOUT : POLLIN), wait)) return std::move(*failure);
  }
}

void Connection::add_interest(std::vector<pollfd>& fds) const {
  if (connection_) fds.push_back({PQsocket(connection_), POLLIN | POLLRDHUP, 0});
}

bool Connection::heard() {
  if (!connection_) return true;
  bool has_come = false;
  if (!PQconsumeInput(connection_) || !usable()) {
    close();
    return true;
  }
  while (PGnotify* note = PQnotifies(connection_)) {
    PQfreemem(note);
    has_come = true;
  }
  return has_come;
}

}  // namespace dlock::postgres
