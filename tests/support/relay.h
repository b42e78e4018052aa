// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/base/unique_fd.h"
#include "lib/net/addresses.h"

namespace dlock {

/// How the bytes of a connection are divided into messages, so that it can be cut behind the n-th one.
enum class Framing {
  kBytes,    ///< not known: whatever one read(2) returns counts as a message
  kRedis,    ///< RESP, both versions
  kFrames,   ///< ZooKeeper's: a length of four bytes, the highest first, stands before each
  kPackets,  ///< MySQL's: a length of three bytes, the lowest first, and a number; an answer with rows is several
};

/// The size in bytes of the message with which `data` begins; nullopt if it is not complete yet. REQUIRES: `data` is
/// not empty.
std::optional<std::size_t> message_size(Framing framing, std::string_view data);

/// What a relay does from now on. The default: it passes on everything, including what it held back before.
struct RelayOrder {
  enum class Traffic {
    kPass,
    kHold,  ///< nothing is passed on, but kept until kPass
    kDrop,  ///< everything is thrown away, including what was kept
  };
  Traffic requests = Traffic::kPass;
  Traffic replies = Traffic::kPass;
  Duration late_by{0};                 ///< how long each message is kept before it is passed on
  std::optional<int> cut_behind = {};  ///< after so many messages all connections are reset; 0: instead of the next
  bool cuts_requests = false;          ///< whether cut_behind counts requests, or else replies
  bool refuses = false;                ///< each new connection is reset
  std::optional<int> answers = {};  ///< after so many more new connections, later ones are accepted but never answered
};

/// One port of a relay, and where its connections lead.
struct RelayPort {
  UniqueFd listener = {};
  Address server = {};
  std::uint16_t number = 0;
};

/// A free port of 127.0.0.1 that leads to `server`. System if there is none.
Result<RelayPort> open_relay_port(const Address& server);

/// Passes on what arrives at its ports to their servers, and the replies back, message by message, as order() says.
/// Single-threaded: nothing happens outside of turn().
class Relay {
 public:
  struct Counts {
    std::size_t requests = 0;
    std::size_t replies = 0;
  };

  Relay(std::vector<RelayPort> ports, Framing framing) : ports_(std::move(ports)), framing_(framing) {}

  /// What to do; the caller changes it at any time. The relay counts cut_behind and answers down.
  RelayOrder& order() { return order_; }
  /// Resets every connection that is open now.
  void reset_all();
  /// How many messages were passed on since the last call.
  Counts take_counts() { return std::exchange(counts_, {}); }
  /// How many connections are open that are never answered (RelayOrder::answers).
  std::size_t unanswered() const { return unanswered_.size(); }

  /// Waits until something arrives at a port or one of `others` is ready (its revents are set), or a message is due;
  /// then passes on what is due.
  void turn(std::vector<pollfd>& others);

 private:
  /// One direction of a connection.
  struct Stream {
    int from = -1;
    int to = -1;
    bool requests = false;
    bool ended = false;
    std::string rest = {};                                       ///< the beginning of a message
    std::deque<std::pair<TimePoint, std::string>> waiting = {};  ///< when it is due
  };
  struct Link {
    UniqueFd client;
    UniqueFd server;
    Stream requests;
    Stream replies;
    bool over = false;
  };

  void accept_on(const RelayPort& port);
  void take_in(Link& link, Stream& stream);
  void hand_on(Link& link, Stream& stream);
  RelayOrder::Traffic traffic(const Stream& stream) const { return stream.requests ? order_.requests : order_.replies; }
  bool is_due(const Stream& stream) const;
  bool cut_instead(const Stream& stream) const;
  void note_handed_on(const Stream& stream);
  std::optional<TimePoint> next_due() const;

  std::vector<RelayPort> ports_;
  Framing framing_;
  SystemClock clock_;
  RelayOrder order_;
  Counts counts_;
  std::list<Link> links_;
  std::vector<UniqueFd> unanswered_;
};

}  // namespace dlock
