// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/redis/wire/byte_stream.h"
#include "backends/redis/wire/reply.h"
#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/keeper/control.h"
#include "lib/net/addresses.h"
#include "lib/net/tls_settings.h"

namespace dlock::redis {

/// Requests sent before the answers to AUTH and HELLO have come. A server without a password refuses AUTH, but carries
/// out the requests after it as its user "default"; so does a node of a cluster with keys that happen to be its own.
enum class Greet {
  kFirst,  ///< nothing
  kAlong,  ///< requests, too, which saves a round trip; the caller undoes what they did if it was refused
};

struct ConnectionSettings {
  Endpoint endpoint;                ///< the name by which the URL or another server calls it
  std::optional<Endpoint> reached;  ///< the address to connect to, if it is another one (address-map)
  std::string user;                 ///< empty: the default user
  std::string password;             ///< SECRET. Empty: no AUTH is sent
  std::string password_file;        ///< read again when the password is refused; empty: none
  int database = 0;                 ///< 0: no SELECT is sent
  std::string client_name;
  std::string alone;            ///< the scheme of a URL that means one server by itself; empty: it may be of a cluster
  Greet greet = Greet::kFirst;  ///< without effect if there is no password and no `alone`
  std::optional<TlsSettings> tls;
};

/// One connection to one server that speaks RESP2: connects, greets (AUTH, HELLO, SELECT, CLIENT SETNAME; in the same
/// write as the first request if that does not have to wait), sends requests and returns their replies in order. Never
/// blocks; its owner polls. It consumes the replies to the greeting: a refused AUTH or SELECT is an error of advance(),
/// a refused SETNAME is not; nor is a refused HELLO, which asks a server that should be alone whether it is. Requests
/// wait for the answer to SELECT, so that none is carried out in another database, and for those to AUTH and, but
/// for redlock, HELLO unless Greet::kAlong. A refused password ends the connection as Unavailable if its file says
/// another one by now, which the next open() uses. Single-threaded.
class Connection {
 public:
  /// How a stream to `settings` is begun; the real one unless a test says otherwise.
  using Dial = std::function<Result<std::unique_ptr<ByteStream>>(const ConnectionSettings& settings, TimePoint until)>;

  explicit Connection(ConnectionSettings settings);
  Connection(ConnectionSettings settings, Dial dial);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  const ConnectionSettings& settings() const { return settings_; }

  /// Begins to connect. REQUIRES: is_closed(). Being connected later than `until` is an error of advance().
  void open(TimePoint until);
  bool is_closed() const { return !started_; }
  /// How often it was opened. With a new number it may lead to another server process, which knows nothing of the last.
  int opened() const { return opened_; }
  bool is_ready() const { return ready_; }  ///< connected and handshaken; the greeting may still be on its way

  /// Queues a request. REQUIRES: !is_closed().
  void send(const Command& command);
  bool is_subscribed() const;  ///< has asked for a subscription
  /// When the last request began to be written, or just before; connecting, and a greeting that requests wait for, come
  /// before that. For a request that is sent while others are outstanding: when the first of them was.
  TimePoint asked_at() const { return asked_at_; }
  /// The number of replies that are still to come for the requests of send().
  std::size_t outstanding() const { return outstanding_; }

  /// Reads and writes what can be read and written now. An error closes the connection: Denied (authentication),
  /// Unavailable, Misconfigured; the outcome of outstanding requests is unknown. The message names the endpoint.
  Result<void> advance(TimePoint now);

  /// The next reply, in order; also pushed messages of a subscription (for which outstanding() does not change).
  std::optional<Reply> next_reply();

  /// The next reply that is not a pushed message; it leaves those for next_reply().
  std::optional<Reply> next_answer();

  void close();

  void add_interest(std::vector<pollfd>& fds) const;
  std::optional<TimePoint> wake_at() const;  ///< the time limit for connecting, or when to repeat SELECT

 private:
  struct Impl;
  ConnectionSettings settings_;
  std::unique_ptr<Impl> impl_;
  bool started_ = false;
  bool ready_ = false;
  int opened_ = 0;
  TimePoint asked_at_{};
  std::size_t outstanding_ = 0;
};

/// Opens `connection` if it is closed, or was closed by the server while nothing was asked, and waits until it is
/// ready. If it fails, no request was sent, so after Unavailable it may be called again. Cancelled as of exchange().
Result<void> connect(Connection& connection, Clock& clock, TimePoint connect_by, Control* control);

/// Sends `commands` in one write and waits for all their replies until `until`. REQUIRES: is_ready(), nothing is
/// outstanding. Errors as of exchange(); the outcome of the commands is then unknown. After a stop by `control` it
/// waits a moment more for the replies, so that the connection can be used for the next request.
Result<std::vector<Reply>> ask(Connection& connection, std::span<const Command> commands, Clock& clock, TimePoint until,
                               Control* control);

/// connect() and ask(): opens `connection` if it is closed (within `connect_by`), sends `commands` in one write and
/// waits for all their replies until `until`. REQUIRES: nothing is outstanding. Unavailable or Denied closes the
/// connection; Cancelled (control wants it; may be nullptr) closes it too, because a late reply would have no receiver.
Result<std::vector<Reply>> exchange(Connection& connection, const std::vector<Command>& commands, Clock& clock,
                                    TimePoint connect_by, TimePoint until, Control* control);

}  // namespace dlock::redis
