// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lib/base/clock.h"
#include "lib/base/log.h"

namespace dlock {

/// The outside world, handed down by main; outlives everything that is made with it.
struct Runtime {
  Clock& clock;
  const Log& log;
};

}  // namespace dlock
