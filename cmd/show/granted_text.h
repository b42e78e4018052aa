// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/options/options.h"
#include "lib/lock/lock_session.h"

namespace dlock {

/// What acquire and hold print: "OWNER TOKEN", a line for each lock; or with --json an object of `schema`: key, owner,
/// token, slot (if it has one), backend, reentered, until (RFC 3339, null when the lock does not end by itself); or
/// with --shell (acquire) the variables of a command's environment as exports of a POSIX shell, one after the other.
std::string granted_text(const Options& options, const char* schema, const std::vector<HeldLock>& locks,
                         std::optional<WallTime> until);

}  // namespace dlock
