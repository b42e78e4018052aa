// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lib/base/result.h"

namespace dlock {

/// Where `local:` keeps its files: /var/lib/dlock for root, else $XDG_STATE_HOME/dlock or ~/.local/state/dlock; without
/// HOME the home directory that /etc/passwd names. Misconfigured if there is none.
Result<std::string> default_local_directory();

/// The same below the home directory of any user, as far as it is known without that user's environment.
std::string local_directory_below(const std::string& home);

/// Where `local:system` keeps them: a directory that the Debian package makes, and that the group dlock shares.
inline constexpr char kSystemLocalDirectory[] = "/var/lib/dlock/system";

/// What helps who has no directory for lock files.
inline constexpr char kNeedsLocalDirectory[] =
    "set HOME or XDG_STATE_HOME to a directory of this user's, name one with -b local:/dir, or use the one that the "
    "group dlock shares: -b local:system";

}  // namespace dlock
