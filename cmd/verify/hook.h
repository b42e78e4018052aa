// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "lib/base/result.h"

namespace dlock {

/// Whether a hook that ended with `status` has done its work: nullopt if so. Otherwise what is to be said of it; it is
/// Misconfigured if the shell found nothing to run, and no call of it ever will.
std::optional<Error> hook_failure(const std::string& phase, int status);

}  // namespace dlock
