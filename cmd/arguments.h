// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/options.h"
#include "lib/base/result.h"
#include "lib/base/time.h"
#include "lib/lock/fencing_token.h"
#include "lib/lock/lock_name.h"
#include "lib/lock/lock_spec.h"

namespace dlock {

/// The one KEY (or RESOURCE) of a command that takes exactly one. Invalid if there is none.
Result<LockName> key_argument(const Options& options);

/// TOKEN as a word, or --token. Invalid if there is neither.
Result<FencingToken> token_argument(const Options& options);

/// OWNER as --owner. Invalid if it is missing.
Result<Owner> owner_argument(const Options& options);

/// -n, -w, --tries, --retry-interval and --connect-timeout as one policy whose clock starts at `now`.
WaitPolicy wait_policy(const Options& options, TimePoint now);

}  // namespace dlock
