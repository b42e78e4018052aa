// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connector_database.h"

#include <cppconn/exception.h>
#include <cppconn/resultset.h>
#include <cppconn/resultset_metadata.h>
#include <cppconn/statement.h>
#include <mysql_connection.h>
#include <mysql_driver.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <mutex>

#include "backends/mysql/server_errors.h"
#include "lib/base/unique_fd.h"

namespace dlock::mysql {
namespace {

using namespace std::chrono_literals;

constexpr Duration kGoodbye = 50ms;           ///< how long a connection may take to be closed in order
constexpr int kLongestStatement = 3600;       ///< s: who waits for a statement has its own, finer time
constexpr std::size_t kStack = 256UL * 1024;  ///< of a thread; a TLS handshake needs about 40 KiB

/// A broken connection must be noticed while the server works on a statement for long, which is how waiters wait.
constexpr int kKeepaliveIdle = 15;      // s
constexpr int kKeepaliveInterval = 5;   // s
constexpr int kKeepaliveProbes = 3;     //
constexpr int kUnacknowledged = 20000;  // ms

/// What the owner and the thread of one connection share. Either may go first.
struct Line {
  DatabaseSettings settings;
  UniqueFd ready{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};  ///< readable when there is an outcome, or the thread is done
  std::mutex mutex;
  std::condition_variable begun;
  std::optional<std::string> statement;  ///< guarded by mutex, as all below
  std::optional<Outcome> outcome;
  int socket = -1;         ///< the library's: valid between its opening and closing, both seen under the mutex
  bool abandoned = false;  ///< by its owner
  bool leaving = false;    ///< the owner is gone: say goodbye and end
  bool over = false;       ///< the thread has closed the connection
};

/// The line for which this thread opens sockets.
thread_local Line* opening = nullptr;

void ring(const Line& line) {
  const std::uint64_t one = 1;
  (void)!write(line.ready.get(), &one, sizeof one);
}

void keep_alive(int fd) {
  const int on = 1;
  if (setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on) != 0) return;
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &kKeepaliveIdle, sizeof kKeepaliveIdle);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &kKeepaliveInterval, sizeof kKeepaliveInterval);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &kKeepaliveProbes, sizeof kKeepaliveProbes);
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnacknowledged, sizeof kUnacknowledged);
}

}  // namespace

/// Called by the wrapper of socket(2): the library has opened a descriptor in this thread.
void socket_opened(int fd, int family) {
  if (opening == nullptr || fd < 0) return;
  if (family != AF_UNIX) keep_alive(fd);
  const std::lock_guard hold(opening->mutex);
  opening->socket = fd;
  if (opening->abandoned) shutdown(fd, SHUT_RDWR);
}

/// Called by the wrapper of close(2), before it: the number may belong to somebody else afterwards.
void socket_closing(int fd) {
  if (opening == nullptr) return;
  const std::lock_guard hold(opening->mutex);
  if (opening->socket == fd) opening->socket = -1;
}

}  // namespace dlock::mysql

// The library neither tells its descriptor nor makes it close-on-exec, so the linker routes these two calls of its
// archive (and of everything else in the program) through here: backends/CMakeLists.txt.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names
int __real_socket(int family, int type, int protocol);
int __real_close(int fd);
int __wrap_socket(int family, int type, int protocol) {
  const int fd = __real_socket(family, type | SOCK_CLOEXEC, protocol);
  dlock::mysql::socket_opened(fd, family);
  return fd;
}
int __wrap_close(int fd) {
  dlock::mysql::socket_closing(fd);
  return __real_close(fd);
}
// NOLINTEND(bugprone-reserved-identifier)
}

namespace dlock::mysql {
namespace {

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
  options["postInit"] =
      sql::SQLString("SET SESSION /*M! tx_isolation*//*!50720 transaction_isolation*/='READ-COMMITTED',wait_timeout=" +
                     std::to_string(settings.idle_seconds));
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

Answer run(sql::Statement& statement, const std::string& text) {
  Answer answer;
  if (!statement.execute(text)) {
    answer.changed = static_cast<std::uint64_t>(std::max(0, static_cast<int>(statement.getUpdateCount())));
    return answer;
  }
  const std::unique_ptr<sql::ResultSet> rows(statement.getResultSet());
  const unsigned columns = rows->getMetaData()->getColumnCount();
  while (rows->next()) {
    Row row;
    for (unsigned i = 1; i <= columns; ++i) {
      if (rows->isNull(i)) row.emplace_back();
      else row.emplace_back(std::string(rows->getString(i)));
    }
    answer.rows.push_back(std::move(row));
  }
  return answer;
}

/// The library's own thread-unsafe beginning, once.
sql::Driver* driver() {
  static sql::Driver* const instance = sql::mysql::get_driver_instance();
  return instance;
}

class Caller {
 public:
  explicit Caller(std::shared_ptr<Line> line) : line_(std::move(line)) {}

  void live() {
    opening = line_.get();
    answer(connect());
    while (const auto statement = next()) answer(execute(*statement));
    hang_up();
    opening = nullptr;
    {
      const std::lock_guard hold(line_->mutex);
      line_->over = true;
    }
    ring(*line_);
  }

 private:
  Outcome connect() {
    try {
      auto options = options_of(line_->settings);
      connection_.reset(driver()->connect(options));
      statement_.reset(connection_->createStatement());
      if (line_->settings.tls && !is_encrypted()) {
        return Failure{kNotEncrypted, "the server speaks no TLS on this connection", true, false};
      }
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
    const Answer answer = run(*statement_, "SHOW SESSION STATUS LIKE 'Ssl_cipher'");
    return !answer.rows.empty() && answer.rows[0].size() == 2 && !answer.rows[0][1].value_or("").empty();
  }

  Outcome execute(const std::string& text) {
    if (!statement_) return Failure{0, "not connected", true, false};
    try {
      return run(*statement_, text);
    } catch (const sql::SQLException& error) {
      return failure_of(error);
    } catch (const std::exception& error) {
      return Failure{0, error.what(), true, false};
    }
  }

  void answer(Outcome outcome) {
    {
      const std::lock_guard hold(line_->mutex);
      if (auto* failure = std::get_if<Failure>(&outcome)) {
        failure->cancelled = line_->abandoned;
        failure->cut_off = failure->cut_off || line_->abandoned;
      }
      line_->outcome = std::move(outcome);
    }
    ring(*line_);
  }

  std::optional<std::string> next() {
    std::unique_lock hold(line_->mutex);
    line_->begun.wait(hold, [&] { return line_->statement || line_->leaving || line_->abandoned; });
    if (line_->leaving || line_->abandoned) return std::nullopt;
    return std::exchange(line_->statement, std::nullopt);
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

  const std::shared_ptr<Line> line_;
  std::unique_ptr<sql::Connection> connection_;
  std::unique_ptr<sql::Statement> statement_;
};

void* live(void* line) {
  const std::unique_ptr<std::shared_ptr<Line>> owned(static_cast<std::shared_ptr<Line>*>(line));
  Caller(*owned).live();
  return nullptr;
}

/// False if the system has no thread for us. The thread outlives its owner if a call does not return.
bool start_thread(const std::shared_ptr<Line>& line) {
  auto owned = std::make_unique<std::shared_ptr<Line>>(line);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStack);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // inherited: a signal breaks a call of the library under TLS
  pthread_t thread;
  const bool started = pthread_create(&thread, &attributes, live, owned.get()) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (started) (void)owned.release();
  return started;
}

class ConnectorDatabase final : public Database {
 public:
  explicit ConnectorDatabase(const DatabaseSettings& settings) {
    line_->settings = settings;
    busy_ = true;
    driver();
    if (start_thread(line_)) return;
    line_->outcome = Failure{0, "no thread could be started", true, false};
    line_->over = true;
    ring(*line_);
  }

  ~ConnectorDatabase() override {
    if (busy_) {
      abandon();
      return;
    }
    {
      const std::lock_guard hold(line_->mutex);
      line_->leaving = true;
    }
    line_->begun.notify_one();
    wait_until_over();
  }
  ConnectorDatabase(const ConnectorDatabase&) = delete;
  ConnectorDatabase& operator=(const ConnectorDatabase&) = delete;

  void begin(std::string statement) override {
    busy_ = true;
    {
      const std::lock_guard hold(line_->mutex);
      if (line_->abandoned || line_->over) line_->outcome = Failure{0, "the connection is closed", true, true};
      else line_->statement = std::move(statement);
      if (line_->outcome) ring(*line_);
    }
    line_->begun.notify_one();
  }

  std::optional<Outcome> outcome() override {
    std::uint64_t count = 0;
    (void)!read(line_->ready.get(), &count, sizeof count);
    const std::lock_guard hold(line_->mutex);
    auto outcome = std::exchange(line_->outcome, std::nullopt);
    if (outcome) {
      busy_ = false;
      const auto* failure = std::get_if<Failure>(&*outcome);
      broken_ = broken_ || (failure && failure->cut_off);
    }
    return outcome;
  }

  void add_interest(std::vector<pollfd>& fds) const override {
    fds.push_back({line_->ready.get(), POLLIN, 0});
    if (busy_ || broken_) return;
    const std::lock_guard hold(line_->mutex);
    if (line_->socket >= 0) fds.push_back({line_->socket, POLLIN | POLLRDHUP, 0});
  }

  void abandon() override {
    broken_ = true;
    {
      const std::lock_guard hold(line_->mutex);
      line_->abandoned = true;
      if (line_->socket >= 0) shutdown(line_->socket, SHUT_RDWR);
    }
    line_->begun.notify_one();
  }

  bool usable() override {
    if (broken_) return false;
    if (busy_) return true;
    const std::lock_guard hold(line_->mutex);
    pollfd fd{line_->socket, POLLIN | POLLRDHUP, 0};
    // A server that has something to say unasked has one thing to say.
    if (line_->socket < 0 || (poll(&fd, 1, 0) > 0 && fd.revents != 0)) broken_ = true;
    return !broken_;
  }

 private:
  void wait_until_over() {
    const auto limit = std::chrono::steady_clock::now() + kGoodbye;
    while (true) {
      {
        const std::lock_guard hold(line_->mutex);
        if (line_->over) return;
      }
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(limit - std::chrono::steady_clock::now()).count();
      pollfd fd{line_->ready.get(), POLLIN, 0};
      if (left <= 0 || poll(&fd, 1, static_cast<int>(left)) == 0) break;
      std::uint64_t count = 0;
      (void)!read(line_->ready.get(), &count, sizeof count);
    }
    abandon();
  }

  const std::shared_ptr<Line> line_ = std::make_shared<Line>();
  bool busy_ = false;  ///< begun, and its outcome not taken
  bool broken_ = false;
};

}  // namespace

std::unique_ptr<Database> connect_by_connector(const DatabaseSettings& settings) {
  return std::make_unique<ConnectorDatabase>(settings);
}

}  // namespace dlock::mysql
