// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/base/time.h"

namespace dlock::zookeeper {

/// Knows where the servers are by now: those of an ensemble in containers come back with other addresses.
class ServerFinder {
 public:
  virtual ~ServerFinder() = default;

  /// To be called again and again while there is no connection; does not block. The addresses of the servers, numeric,
  /// if they are others than before.
  virtual std::optional<std::vector<std::string>> look(TimePoint now) = 0;
};

}  // namespace dlock::zookeeper
