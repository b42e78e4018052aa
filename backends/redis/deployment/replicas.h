// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/redis/wire/connection.h"
#include "lib/base/clock.h"
#include "lib/base/result.h"

namespace dlock::redis {

/// wait_replicas=N|all: how many replicas must have a grant or a renewal before it counts.
struct ReplicaDemand {
  int count = 0;  ///< 0: none
  bool all = false;
};

/// The check that enough replicas have one change. Pure. Its commands go out on the connection of the change, after
/// it, because WAIT is about the writes of its own connection. "All" is the higher of what others know (`known`) and
/// what the primary's own ROLE says, and at least one: a replica that has just left to be promoted still counts. If
/// ROLE says more than was asked for, the change is repeated with the right number (kAgain).
class ReplicaCheck {
 public:
  /// `known`: how many replicas the primary has by Deployment::known_replicas().
  explicit ReplicaCheck(const ReplicaDemand& demand, std::int64_t known = 0)
      : all_(demand.all), wanted_(demand.all ? std::max<std::int64_t>(1, known) : demand.count), least_(wanted_) {}

  /// The number after a call, which may have met another primary than the one before.
  void know(std::int64_t known) {
    if (all_) least_ = std::max<std::int64_t>(1, known);
  }

  bool any() const { return wanted_ > 0; }
  /// The commands to send after the change. WAIT answers within `patience`.
  std::vector<Command> commands(Duration patience) const;

  enum class Confirmation {
    kMet,    ///< enough replicas have the change
    kUnmet,  ///< too few have confirmed it
    kAgain,  ///< there are more replicas than were known: repeat the change and the check
  };
  /// `replies`: to commands(), in their order; none is an error.
  Confirmation judge(const std::vector<Reply>& replies);
  /// How many have to confirm it, by the last judge().
  std::int64_t wanted() const { return wanted_; }
  /// How many replicas a primary has by its reply to ROLE.
  static std::int64_t count(const Reply& role);
  /// "1 of 2 replicas"
  std::string text() const;

 private:
  bool all_;
  std::int64_t wanted_;
  std::int64_t least_;  ///< the least that "all" means
  std::int64_t confirmed_ = 0;
};

}  // namespace dlock::redis
