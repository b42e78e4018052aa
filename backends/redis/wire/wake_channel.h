// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/redis/wire/connection.h"
#include "lib/base/clock.h"

namespace dlock::redis {

/// The second connection of a lock: it hears the channel of this waiter or holder, and which keys that the first
/// connection looked at have changed (CLIENT TRACKING with REDIRECT, Redis 6). Where a server refuses either, the owner
/// of this looks by itself: nothing here ever fails.
class WakeChannel {
 public:
  explicit WakeChannel(Clock& clock) : clock_(clock) {}

  /// Connects to where `main` is connected and subscribes; is confirmed when it returns true. `sharded`: to what is
  /// published within the slot as well (SPUBLISH, Redis 7).
  bool open(const Connection& main, const std::string& channel, TimePoint until, Control* control,
            bool sharded = false);
  bool is_open() const { return connection_ && !connection_->is_closed(); }
  void close() {
    connection_.reset();
    pauses_until_.reset();
  }

  /// "CLIENT TRACKING ON REDIRECT this", to be sent on the main connection.
  Command tracking(bool all_reads) const;

  void add_interest(std::vector<pollfd>& fds) const;
  /// When heard() has to be called though no descriptor asks for it.
  std::optional<TimePoint> wake_at() const { return pauses_until_; }
  /// True if something was heard since the last call. Closes itself when the connection breaks. Changes of keys that
  /// come too often are heard a little later, together.
  bool heard(TimePoint now);

 private:
  void note_change(TimePoint now);

  Clock& clock_;
  std::unique_ptr<Connection> connection_;
  std::string id_;
  TimePoint changes_since_{};
  int changes_ = 0;  ///< since then, at most a second ago
  std::optional<TimePoint> pauses_until_;
};

}  // namespace dlock::redis
