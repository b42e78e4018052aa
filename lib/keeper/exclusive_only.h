// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lib/base/result.h"
#include "lib/lock/lock_spec.h"

namespace dlock {

/// For stores of which one key is one exclusive lock and nothing more. Unsupported, naming what was asked for.
Result<void> check_exclusive_only(const LockSpec& spec, const std::string& store);

}  // namespace dlock
