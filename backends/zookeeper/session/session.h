// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

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

/// What re-attaches to a session. SECRET: who has it owns all nodes of the session.
struct SessionKey {
  std::int64_t id = 0;
  std::string password;     ///< 16 bytes
  std::string server = {};  ///< that it was connected to, numeric; empty: not known
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

/// THE PORT to an ensemble: one session, which outlives connections. Requests are answered in the order in which they
/// were asked, those asked before it is connected too; each one exactly once. Single-threaded.
class Session {
 public:
  virtual ~Session() = default;

  /// Does not block.
  virtual void ask(std::uint64_t ticket, const Request& request) = 0;

  /// The next thing that happened, or nullopt. Does not block.
  virtual std::optional<Event> next() = 0;

  /// Ready when next() may have something.
  virtual void add_interest(std::vector<pollfd>& fds) const = 0;

  /// When next() is to be called though nothing is ready: it keeps the session alive as well.
  virtual std::optional<TimePoint> wake_at() const { return std::nullopt; }

  /// Why there is no connection, or the present one is about to be left, for people; empty if nothing is known.
  virtual std::string trouble() const = 0;

  /// How many connections have been refused so far: by servers at once, not by silence.
  virtual int refusals() const { return 0; }

  /// Leaves the server that does not answer for the next one, with the same session: the library itself would wait for
  /// two thirds of the timeout. What is on its way is answered as lost.
  virtual void reconnect() = 0;

  /// Ends the session: its ephemeral nodes go. Blocks for a round trip, for a few seconds if the server is silent.
  virtual void close() = 0;

  /// Lets go of it without a word: it and its nodes last until it expires, or somebody else takes it over.
  virtual void abandon() = 0;
};

/// How to open a session.
struct SessionSettings {
  std::vector<std::string> servers;  ///< "10.0.0.1:2181", numeric
  std::string digest;                ///< SECRET: "user:password", empty for none
  Duration timeout{0};               ///< asked for, but 12 days at most; the server grants what it likes
  std::optional<SessionKey> attach;  ///< an existing session instead of a new one
};

/// By libzookeeper. System if it cannot make a handle, Invalid for an address that it does not take.
Result<std::unique_ptr<Session>> open_session(const SessionSettings& settings);

}  // namespace dlock::zookeeper
