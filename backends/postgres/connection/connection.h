// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "backends/postgres/connection/errors.h"
#include "backends/postgres/connection/settings.h"
#include "lib/base/clock.h"
#include "lib/keeper/call_limit.h"
#include "lib/net/answer_wait.h"

struct pg_conn;

namespace dlock::postgres {

/// One row as the server wrote it; empty for NULL.
using Row = std::vector<std::string>;
/// The text of a field; empty for a column that the row does not have.
inline std::string text_of(const Row& row, std::size_t column) {
  return column < row.size() ? row[column] : std::string();
}
using Answer = std::vector<Row>;
using AnswerOrFailure = std::variant<Answer, Failure>;

/// One connection to one server, by libpq, which never blocks here and reads nothing but what it is given: no variables
/// of the environment, no ~/.pgpass, no service file. Never reconnects by itself: with the connection go its advisory
/// locks and what it listens to. Each statement is a transaction of its own, and is sent without a name, so a pooler
/// may give each one to another server process. Single-threaded.
class Connection {
 public:
  /// Connects to `address` of `endpoint` (nullptr: to its socket). `writable`: not to a server that takes no changes.
  static std::variant<std::unique_ptr<Connection>, Failure> open(const Settings& settings, const Endpoint& endpoint,
                                                                 const Address* address, bool writable, Clock& clock,
                                                                 const CallLimit& limit);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Without an answer by the end of `limit`, or 400 ms after its control wanted an end, the connection is broken.
  AnswerOrFailure ask(const std::string& statement, const std::vector<std::string>& params, const CallLimit& limit);
  /// Sends it; take() has the outcome, once.
  std::optional<Failure> begin(const std::string& statement, const std::vector<std::string>& params);
  std::optional<AnswerOrFailure> take();

  void add_interest(std::vector<pollfd>& fds) const;
  /// Whether a notification has come since the last call, or the connection has ended.
  bool heard();
  bool usable() const;
  void close();

  /// The server process that the connection began with. Another one answers "SELECT pg_backend_pid()" behind a pooler.
  int backend() const { return backend_; }
  bool is_encrypted() const;

 private:
  Connection(pg_conn* connection, Clock& clock) : connection_(connection), clock_(clock) {}
  std::optional<Failure> finish_login(const CallLimit& limit);
  /// nullopt: the socket is ready.
  std::optional<Failure> await(short events, AnswerWait& wait);
  Failure broken();

  pg_conn* connection_;
  Clock& clock_;
  int backend_ = 0;
  Answer rows_;                    ///< of the statement that runs
  std::optional<Failure> failed_;  ///< the same
};

}  // namespace dlock::postgres
