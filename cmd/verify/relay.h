// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cmd/verify/framing.h"
#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/base/unique_fd.h"
#include "lib/net/addresses.h"

namespace dlock {

/// What a relay does until the next order. The default hands on everything, and what was held back.
struct RelayOrder {
  enum class Traffic {
    kPass,
    kHold,  ///< nothing arrives, until it passes again
    kDrop,  ///< nothing arrives, now or ever; what was held back is gone as well
  };
  Traffic requests = Traffic::kPass;
  Traffic replies = Traffic::kPass;
  Duration late_by{0};
  std::optional<int> cut_behind = {};  ///< resets every connection behind so many messages more; 0: instead of the next
  bool cuts_requests = false;
  bool refuses = false;             ///< resets each new connection
  std::optional<int> answers = {};  ///< so many new connections more; later ones are open, and nobody is behind them
};

struct RelayPort {
  UniqueFd listener = {};
  Address server = {};
  std::uint16_t number = 0;
};

/// A free port of 127.0.0.1, for `server`.
Result<RelayPort> open_relay_port(const Address& server);

/// Hands on what arrives at its ports, and the answers, message by message, as it is ordered to. One thread.
class Relay {
 public:
  struct Counts {
    std::size_t requests = 0;
    std::size_t replies = 0;
  };

  Relay(std::vector<RelayPort> ports, Framing framing) : ports_(std::move(ports)), framing_(framing) {}

  /// What is to be done from now on; counted down as it is done.
  RelayOrder& order() { return order_; }
  /// Resets every connection. New ones work.
  void reset_all();
  /// The messages that were handed on since the last call.
  Counts take_counts() { return std::exchange(counts_, {}); }
  /// The connections behind which nobody is.
  std::size_t unanswered() const { return unanswered_.size(); }

  /// Waits until something arrives, here or on `others`, whose revents are set then, and hands on what is due.
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
