// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// The check that enough replicas have one change. Pure. Its commands go out on the connection of the change, behind
/// it, because WAIT is about the writes of its own connection. Of "all", the number is unknown at first and taken as
/// one; if there are more replicas, the change is repeated with the right number (kAgain).
class ReplicaCheck {
 public:
  explicit ReplicaCheck(const ReplicaDemand& demand) : all_(demand.all), wanted_(demand.all ? 1 : demand.count) {}

  bool any() const { return wanted_ > 0; }
  /// The commands to send behind the change. WAIT answers within `patience`.
  std::vector<Command> commands(Duration patience) const;

  enum class Outcome {
    kMet,    ///< enough replicas have the change
    kUnmet,  ///< too few have confirmed it
    kAgain,  ///< there are more replicas than were known: repeat the change and the check
  };
  /// `replies`: to commands(), in their order; none is an error.
  Outcome judge(const std::vector<Reply>& replies);
  /// "1 of 2 replicas"
  std::string text() const;

 private:
  bool all_;
  std::int64_t wanted_;
  std::int64_t confirmed_ = 0;
};

}  // namespace dlock::redis
