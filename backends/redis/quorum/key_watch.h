// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/redis/deployment/names.h"
#include "backends/redis/deployment/wake_channel.h"
#include "backends/redis/quorum/server_group.h"
#include "lib/base/clock.h"

namespace dlock::redis {

/// How the holder of a RedLock hears that its key was changed by somebody else (CLIENT TRACKING, Redis 6), or that it
/// is asked to end (a message): from each server of the group that can tell it, on a second connection. Where one
/// cannot, the next renewal notices. What the scripts of this lock read on the group's connections is watched as well.
/// `group` outlives it. Single-threaded.
class KeyWatch {
 public:
  KeyWatch(ServerGroup& group, NativeNames names, std::string owner, Clock& clock);

  /// From `at` on; called again after a renewal.
  void begin(TimePoint at);
  std::optional<TimePoint> wake_at() const;
  void add_interest(std::vector<pollfd>& fds) const;
  /// Opens what is to be opened by now, within `budget`. The server whose key has changed, once.
  std::optional<std::string> heard(TimePoint now, Duration budget);
  /// What was heard was nothing: the lock is ours as before.
  void was_nothing(TimePoint now);

 private:
  struct Watch {
    WakeChannel channel;
    int connection = 0;  ///< of the group, on which the key was read
    Deafness deafness = {};
    bool tries = true;  ///< since the last renewal
    bool told = false;  ///< since was_nothing()
  };

  bool is_due(std::size_t server) const;
  void open(TimePoint until);

  ServerGroup& group_;
  const NativeNames names_;
  const std::string owner_;
  Clock& clock_;
  std::vector<Watch> watches_;
  std::optional<TimePoint> opens_at_;
};

}  // namespace dlock::redis
