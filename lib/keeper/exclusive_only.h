// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lib/base/result.h"
#include "lib/lock/lock_spec.h"

namespace dlock {

/// For stores that have only exclusive locks. Unsupported, naming the option, if `spec` asks for more.
Result<void> check_exclusive_only(const LockSpec& spec, const std::string& store);

}  // namespace dlock
