// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lib/base/time.h"
#include "lib/keeper/control.h"

namespace dlock {

/// How long a call may take. With `control`, also until it wants an end (Cancelled).
struct CallLimit {
  TimePoint until;
  Control* control = nullptr;
};

}  // namespace dlock
