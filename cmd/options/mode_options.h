// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/options/arguments.h"
#include "cmd/options/option_reader.h"
#include "cmd/options/options.h"

namespace dlock {

/// --exclusive, --shared, --permits, --slots and --fair: how many may hold the lock together, and in which order they
/// get it. Invalid where two of them exclude each other.
Result<void> read_mode_options(const OptionReader& from, const Arguments& arguments, Options& options);

}  // namespace dlock
