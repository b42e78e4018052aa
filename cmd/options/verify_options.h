// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/options/option_reader.h"
#include "cmd/options/options.h"

namespace dlock {

/// What `dlock verify` alone has, and the ttl of its locks.
Result<void> read_verify_options(const OptionReader& from, Options& options);

}  // namespace dlock
