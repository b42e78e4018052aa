// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/options/options.h"
#include "cmd/show/output.h"
#include "lib/base/runtime.h"

namespace dlock {

/// `dlock config show` prints the merged settings; `dlock config check` says every mistake, and with --strict takes a
/// warning for one: 78, or 77 if nothing but the rights of a file is wrong.
int config_command(const Options& options, const Runtime& runtime, Output& out);

}  // namespace dlock
