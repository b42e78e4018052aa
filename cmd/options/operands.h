// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/options/arguments.h"
#include "cmd/options/options.h"

namespace dlock {

/// Whether `key` is a pattern where a command takes patterns, as inspect and force-release do: it has one of * ? [. It
/// means all live locks that it matches, one of exactly this name included.
bool is_pattern(const LockName& key);

/// Puts the words of a command line where they belong: keys, token, CMD, other words; and checks that what the command
/// cannot do without is there. Invalid says what is missing and shows the right form.
Result<void> place_operands(const Arguments& arguments, Options& options);

}  // namespace dlock
