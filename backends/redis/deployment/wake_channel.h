// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/redis/wire/connection.h"
#include "lib/base/clock.h"
#include "lib/keeper/control.h"

namespace dlock::redis {

/// A holder opens its second connection only after so long.
inline constexpr Duration kFirstWatch = std::chrono::milliseconds(200);

/// How often the holder of a lock is to open its second connection once it has failed: with each renewal at first, and
/// after three failures in a row with every tenth. Renewals notice a loss, too, only later.
class Deafness {
 public:
  void failed() { ++failures_; }
  void over() { failures_ = 0; }
  /// At a renewal.
  bool tries() { return failures_ < kEnough || ++failures_ % kRenewals == 0; }

 private:
  static constexpr int kEnough = 3;
  static constexpr int kRenewals = 10;
  int failures_ = 0;
};

/// The second connection of a lock: hears the channel of this waiter or holder, and changes of keys that the first
/// connection has read (CLIENT TRACKING with REDIRECT, Redis 6). Nothing here fails: where a server refuses either, the
/// owner has to ask from time to time. Single-threaded.
class WakeChannel {
 public:
  explicit WakeChannel(Clock& clock) : clock_(clock) {}

  /// Connects to the server of `main` and subscribes to `channel`. True: the server has confirmed it. `sharded`:
  /// subscribes also to messages within the slot (SPUBLISH, Redis 7).
  bool open(const Connection& main, const std::string& channel, TimePoint until, Control* control,
            bool sharded = false);
  bool is_open() const { return connection_ && !connection_->is_closed(); }
  /// Closes this if the lock is asked for on another server by now (a slot has moved, a failover): messages go there.
  void follow(const Connection* main) {
    if (is_open() && main && !(main->settings().endpoint == connection_->settings().endpoint)) close();
  }
  void close() {
    connection_.reset();
    pauses_until_.reset();
  }

  /// "CLIENT TRACKING ON REDIRECT this", to be sent on the main connection.
  Command tracking(bool all_reads) const;

  void add_interest(std::vector<pollfd>& fds) const;
  /// When heard() has to be called even if no descriptor is ready.
  std::optional<TimePoint> wake_at() const { return pauses_until_; }
  /// True if a message or a change has come since the last call. Closes this when the connection breaks. Changes that
  /// come too often are reported together, a little later.
  bool heard(TimePoint now);
  /// What was heard was nothing: the key is as it was. From the second time in a row on nothing is heard for a while,
  /// which grows to a second, because each look may make a server whose table is full report the key of somebody else.
  void was_nothing(TimePoint now);

 private:
  void note_change(TimePoint now);

  Clock& clock_;
  std::unique_ptr<Connection> connection_;
  std::string id_;
  TimePoint changes_since_{};
  int changes_ = 0;  ///< since changes_since_, which is at most a second ago
  std::optional<TimePoint> pauses_until_;
  TimePoint nothing_at_{};
  Duration nothing_pause_{0};  ///< after the next time that it was nothing
};

}  // namespace dlock::redis
