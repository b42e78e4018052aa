// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/time.h"
#include "lib/keeper/control.h"
#include "lib/net/addresses.h"
#include "lib/net/tls_settings.h"

namespace dlock::mysql {

struct DatabaseSettings {
  Endpoint endpoint;
  std::string user;
  std::string password;            ///< SECRET
  std::string password_file = {};  ///< read again when the server refuses the login; empty: none
  std::string database;
  std::optional<TlsSettings> tls;  ///< as in lib/net/database_url.h
  Duration connect_timeout{0};
  int idle_seconds = 60;  ///< the server ends this session when it has heard nothing for so long (wait_timeout)
  bool waits_for_rows =
      true;              ///< false: a row that another transaction has locked is an error at once (MySQL 8: after 1 s)
  bool batches = false;  ///< takes several statements at once, with ';' between them and nowhere else
  /// The largest answer to a statement, in bytes as the server sends it; more cuts the connection off. It has at most a
  /// sixteenth as many fields.
  std::size_t longest_answer = 1UL * 1024 * 1024;
};

/// One row as the server wrote it; nullopt is NULL.
using Row = std::vector<std::optional<std::string>>;
/// The text of a field; empty for NULL and for a column that the row does not have.
inline std::string text_of(const Row& row, std::size_t column) {
  return column < row.size() ? row[column].value_or("") : std::string();
}

/// The answer to a statement: the rows of a query, or how many rows a change has changed (not: matched). Of a batch:
/// the rows of all its statements in order, and the number that the first one changed.
struct Answer {
  std::vector<Row> rows;
  std::uint64_t changed = 0;
  std::optional<TimePoint> went_on = {};  ///< when `next` of begin() was sent, if this is the answer to it
  std::uint64_t number = 0;               ///< the LAST_INSERT_ID() that a single change has set; 0: none
};

/// Why a statement, or the connection, has failed.
struct Failure {
  int code = 0;            ///< MySQL's number; 0: none of the server's (misuse, time over); below: errors.h
  std::string text;        ///< in the server's words
  bool cut_off = false;    ///< the connection is gone; whether the statement was carried out is not known
  bool cancelled = false;  ///< cut off because our own side wanted it
};

using AnswerOrFailure = std::variant<Answer, Failure>;

/// One connection to one server: THE PORT to databases, of which tests have a scripted one. It begins to connect when
/// it is made, and its first outcome is that of connecting: an empty Answer, or why not. Then one statement at a time,
/// each in autocommit mode unless it says otherwise; READ COMMITTED. A batch ends with its first failure. Never blocks;
/// never reconnects by itself: what is cut off stays so, because with the connection go its named locks, its
/// transaction and its variables. Single-threaded. Destruction says goodbye if nothing runs, otherwise breaks the
/// connection.
class Database {
 public:
  virtual ~Database() = default;

  /// Sends `statement`. With `next`: if the answer is a row that begins with 1, sends `next` at once, and the outcome
  /// is that of `next`. REQUIRES: usable(), and the outcome of the statement before has been taken.
  virtual void begin(std::string statement, std::string next = {}) = 0;

  /// Whether the last `next` was sent or will be; after close(): whether it was sent.
  virtual bool went_on() const = 0;

  /// The outcome of the statement that was begun last, returned once. nullopt: there is none yet, or none was begun.
  virtual std::optional<AnswerOrFailure> outcome() = 0;

  /// Adds the descriptor to poll for the outcome, or while no statement runs, for the end of the connection.
  virtual void add_interest(std::vector<pollfd>& fds) const = 0;

  /// Breaks the connection at once; the outcome of a running statement is then cut_off. The server ends the session
  /// when it notices: immediately, or within a second while that waits for a lock.
  virtual void close() = 0;

  /// False once the connection is known to be broken. Checks the socket; sends nothing.
  virtual bool usable() = 0;
};

/// Waits for the outcome of the statement that was begun on `database`, until `until` (nullopt: for ever) or until
/// control (may be nullptr) wants an end, and then for at most 400 ms more. Without an answer it closes the
/// connection, because a late answer would have no reader, and returns a Failure with `cancelled`: the outcome is
/// unknown.
AnswerOrFailure await(Database& database, Clock& clock, std::optional<TimePoint> until, Control* control);

/// begin() and await().
AnswerOrFailure ask(Database& database, std::string statement, Clock& clock, TimePoint until, Control* control);

/// How a connection is begun; the real one is connect_by_connector(), unless a test says otherwise.
using Dial = std::function<std::unique_ptr<Database>(const DatabaseSettings&)>;

/// Begins to connect by MySQL Connector/C++ 1.1. Its calls block and count time-outs in whole seconds, so a thread of
/// the connection's own makes them (ConnectorSession), with all signals blocked; the owner polls for the outcome and
/// decides how long to wait. An abandoned call has its outcome at once; the thread, which owns all that it uses, ends
/// when the broken socket wakes it (if the server has said nothing yet, within connect_timeout), or with the process.
std::unique_ptr<Database> connect_by_connector(const DatabaseSettings& settings);

}  // namespace dlock::mysql
