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

/// One demand for one change, from write to write. Pure. The replicas are asked on the connection of the change, behind
/// it, because WAIT speaks of what its own connection has written. "all" begins with one, since nobody knows how many
/// there are; where there are more, the change is made once more with the right number.
class ReplicaCheck {
 public:
  explicit ReplicaCheck(const ReplicaDemand& demand) : all_(demand.all), wanted_(demand.all ? 1 : demand.count) {}

  bool any() const { return wanted_ > 0; }
  /// What goes behind the change. WAIT answers before `patience` is over.
  std::vector<Command> commands(Duration patience) const;

  enum class Outcome { kMet, kUnmet, kAgain };
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
