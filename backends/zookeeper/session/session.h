// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "backends/zookeeper/session/request.h"
#include "lib/base/result.h"
#include "lib/base/time.h"

namespace dlock::zookeeper {

/// "10.0.0.1:2181", as the client library takes it: an IPv6 address without brackets, since it cuts at the last colon.
std::string server_text(const sockaddr* address);

/// The key to attach to a session again. SECRET: its owner can use and end the session.
struct SessionKey {
  std::int64_t id = 0;
  std::string password;     ///< 16 bytes
  std::string server = {};  ///< the one that it was connected to last, numeric; empty: not known
};

enum class SessionState { kConnecting, kConnected, kExpired, kAuthFailed };

struct Answered {
  std::uint64_t ticket = 0;
  Answer answer;
};
struct WatchFired {
  std::string path;
};
struct StateChanged {
  SessionState state = SessionState::kConnecting;
  SessionKey key;       ///< with kConnected
  Duration timeout{0};  ///< with kConnected: what the server granted
};
using Event = std::variant<Answered, WatchFired, StateChanged>;

/// THE PORT to an ensemble: one session, which outlives its connections. Each request is answered exactly once, in the
/// order of ask(), also those from before the first connection. For the thread of one loop: what other threads do for
/// it is seen by next() alone.
class Session {
 public:
  virtual ~Session() = default;

  /// Sends `request`, whose answer will bear `ticket`. Does not block.
  virtual void ask(std::uint64_t ticket, const Request& request) = 0;

  /// The next event, or nullopt. Does not block.
  virtual std::optional<Event> next() = 0;

  /// Ready when next() may have something.
  virtual void add_interest(std::vector<pollfd>& fds) const = 0;

  /// When next() has to be called even if no descriptor is ready.
  virtual std::optional<TimePoint> wake_at() const { return std::nullopt; }

  /// Why there is no connection, or the present one is about to be left, for people; empty if nothing is known.
  virtual std::string trouble() const = 0;

  /// How many connections have been refused so far: by servers at once, not by silence.
  virtual int refusals() const { return 0; }

  /// Leaves a server that does not answer, and connects to the next one with the same session; the library itself would
  /// wait for two thirds of the timeout. Requests on their way are answered as lost.
  virtual void reconnect() = 0;

  /// Logs in once more, with a password that has changed.
  virtual void log_in(const std::string& /*digest*/) {}

  /// From now on the servers are these; a connection to another one may be left.
  virtual void use_servers(const std::vector<std::string>& /*servers*/) {}

  /// Ends the session, with which its ephemeral nodes are removed. Blocks for a round trip, or for 1 s if the server is
  /// silent; the rest is done after it, or left undone when the process ends.
  virtual void close() = 0;

  /// Closes the connection without ending the session: it and its nodes last until it expires or is taken over.
  virtual void abandon() = 0;
};

/// How to open a session.
struct SessionSettings {
  std::vector<std::string> servers;  ///< "10.0.0.1:2181", numeric
  std::string digest;                ///< SECRET: "user:password", empty for none
  Duration timeout{0};               ///< asked for, but 12 days at most; the server grants what it likes
  std::optional<SessionKey> attach;  ///< an existing session instead of a new one
};

/// Opens a session by libzookeeper. System if it cannot make a handle, Invalid for an address that it does not take.
Result<std::unique_ptr<Session>> open_session(const SessionSettings& settings);

}  // namespace dlock::zookeeper
