// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/options/option_reader.h"
#include "cmd/options/options.h"

namespace dlock {

/// --once, --remember and --once-for of run, and --slot of release. REQUIRES: the keys and the backends are known.
Result<void> read_once_options(const OptionReader& from, Options& options);

}  // namespace dlock
