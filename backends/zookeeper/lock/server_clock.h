// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "backends/zookeeper/session/calls.h"
#include "lib/lock/holder.h"

namespace dlock::zookeeper {

/// The leader's clock, which stamps the nodes: known by the time of a node that is made for that, and deleted again,
/// once a minute.
class ServerClock {
 public:
  /// Moves the times in `state` to our clock. Leaves them alone where we may not make a node below `root`.
  void move_to_ours(LockState& state, Calls& calls, const std::string& root, TimePoint until, Control* control);

 private:
  void read(Calls& calls, const std::string& root, TimePoint until, Control* control);

  TimePoint read_again_at_{};
  std::optional<WallTime> theirs_;
  WallTime asked_{};  ///< our clock, before theirs was read and after that
  WallTime answered_{};
};

}  // namespace dlock::zookeeper
