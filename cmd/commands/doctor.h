// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cmd/options/options.h"
#include "cmd/show/output.h"
#include "lib/base/runtime.h"
#include "lib/lock/lock_admin.h"

namespace dlock {

/// dlock doctor: the configuration, then what the backend finds about itself, each line ok, warn or fail with its
/// remedy. 0 if nothing fails, else by the worst failure: 69 unreachable, 77 refused, 78 not fit.
int doctor_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);

/// The same when the backend could not even be made: `why` is one more failure.
int doctor_without_backend(const Options& options, const Error& why, const Runtime& runtime, Output& out);

/// What is configured, and from where.
std::vector<Finding> config_findings(const Options& options);

/// 0, or the exit status of the worst failure.
int worst_status(const std::vector<Finding>& findings);

}  // namespace dlock
