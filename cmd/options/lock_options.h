// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/options/arguments.h"
#include "cmd/options/option_reader.h"
#include "cmd/options/options.h"

namespace dlock {

// Options that promise each other something are read together; Invalid where they do not fit.

/// How long to wait, and what to say when that is over: --nonblock, --wait, --tries, --retry-interval,
/// --conflict-exit-code, --warn-held, --connect-timeout.
Result<void> read_wait_options(const OptionReader& from, Options& options);

/// How many may hold the lock together, and in which order they get it: --exclusive, --shared, --permits, --slots,
/// --fair, --replace, --newest.
Result<void> read_mode_options(const OptionReader& from, const Arguments& arguments, Options& options);

/// --ttl, --kill-after and --lock-delay with what they promise each other (lib/lock/lease.h): Invalid when a command
/// could still run at the end of its lease.
Result<void> read_lease_options(const OptionReader& from, Options& options);

/// What becomes of a command under the lock, and what is recorded of it: --on-lost, --at-least, --max-hold, --close,
/// --reason, --report, --events, --command.
Result<void> read_run_options(const OptionReader& from, const Arguments& arguments, Options& options);

/// --once and --remember of run, and --slot of release. REQUIRES: the keys and the backends are known.
Result<void> read_once_options(const OptionReader& from, Options& options);

}  // namespace dlock
