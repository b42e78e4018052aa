// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/options/options.h"
#include "lib/base/time.h"
#include "lib/lock/lock_spec.h"

namespace dlock {

/// -n, -w, --tries, --retry-interval and --connect-timeout as one policy whose clock starts at `now`.
WaitPolicy wait_policy(const Options& options, TimePoint now);

}  // namespace dlock
