// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/options/arguments.h"
#include "cmd/options/option_reader.h"
#include "cmd/options/options.h"

namespace dlock {

/// What the options of a lock, once they are read, say together: how long to wait, how many may hold it and in which
/// order they get it, and that a command ends before its lease (lib/lock/lease.h). What cannot be goes among
/// options.mistakes.
void settle_lock_options(const OptionReader& from, const Arguments& arguments, Options& options);

/// --once of run, and --slot of release. Invalid where they do not fit. REQUIRES: the keys and the backends are known.
Result<void> settle_slots(const OptionReader& from, Options& options);

}  // namespace dlock
