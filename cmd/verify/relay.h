// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/unique_fd.h"
#include "lib/net/addresses.h"

namespace dlock {

/// What a relay does until the next order. The default hands on everything, and what was held back.
struct RelayOrder {
  bool holds_requests = false;
  bool holds_replies = false;
  Duration late_by{0};
  int cut_behind = -1;  ///< resets every connection when so many messages have been handed on; then no more
  bool cuts_requests = false;
};

struct RelayPort {
  UniqueFd listener = {};
  Address server = {};
  std::uint16_t number = 0;
};

/// Hands on what arrives at its ports, and the answers, as it is ordered to.
class Relay {
 public:
  /// `control` takes RelayOrders as packets.
  Relay(std::vector<RelayPort> ports, UniqueFd control) : ports_(std::move(ports)), control_(std::move(control)) {}

  /// Returns when the other end of `control` is closed.
  void run();

 private:
  /// One direction of a connection.
  struct Stream {
    int from = -1;
    int to = -1;
    bool requests = false;
    bool ended = false;
    std::deque<std::pair<TimePoint, std::string>> waiting = {};  ///< when it is due
  };
  struct Link {
    UniqueFd client;
    UniqueFd server;
    Stream requests;
    Stream replies;
    bool over = false;
  };

  bool obey();
  void accept_on(const RelayPort& port);
  void take_in(Link& link, Stream& stream);
  void hand_on(Link& link, Stream& stream);
  bool is_held(const Stream& stream) const;
  bool cuts_here(const Stream& stream);
  void reset_all();

  std::vector<RelayPort> ports_;
  UniqueFd control_;
  SystemClock clock_;
  RelayOrder order_;
  std::list<Link> links_;
};

}  // namespace dlock
