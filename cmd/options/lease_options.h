// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/options/option_reader.h"
#include "cmd/options/options.h"

namespace dlock {

/// --ttl, --kill-after and --lock-delay with what they promise each other (lib/lock/lease.h): Invalid
/// when a command could still run at the end of its lease.
Result<void> read_lease_options(const OptionReader& from, Command command, Options& options);

}  // namespace dlock
