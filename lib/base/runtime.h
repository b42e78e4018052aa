// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "lib/base/clock.h"
#include "lib/base/log.h"

namespace dlock {

/// The outside world, handed down by main; outlives everything that is made with it.
struct Runtime {
  Clock& clock;
  const Log& log;
  Duration patience = std::chrono::seconds(5);  ///< how long a command that supervises nothing asks a silent store
};

}  // namespace dlock
