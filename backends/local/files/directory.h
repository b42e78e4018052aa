// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "lib/base/result.h"
#include "lib/base/users.h"

namespace dlock::local {

// Every program shows a URL with its directory (url.h), those without this backend as well: hence all of it is inline.

/// Where `local:system` keeps its files: a directory that the Debian package makes, and that the group dlock shares.
inline constexpr char kSystemDirectory[] = "/var/lib/dlock/system";

/// Advice for a user without a directory for lock files.
inline constexpr char kNeedsDirectory[] =
    "set HOME or XDG_STATE_HOME to a directory of this user's, name one with -b local:/dir, or use the one that the "
    "group dlock shares: -b local:system";

/// Below the home directory of any user, as far as it is known without that user's environment.
inline std::string directory_below(const std::string& home) { return home + "/.local/state/dlock"; }

inline std::optional<std::string> home_in_passwd(uid_t uid) {
  std::optional<std::string> home;
  for_each_user([&](const passwd& entry) {
    if (entry.pw_uid == uid && entry.pw_dir[0] == '/') home = entry.pw_dir;
    return entry.pw_uid != uid;
  });
  return home;
}

/// Where `local:` keeps its files: /var/lib/dlock for root, else $XDG_STATE_HOME/dlock or ~/.local/state/dlock; without
/// HOME the home directory that /etc/passwd names. Misconfigured if there is none.
inline Result<std::string> usual_directory() {
  if (geteuid() == 0) return std::string("/var/lib/dlock");
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state && state[0] == '/') return std::string(state) + "/dlock";
  const char* home = std::getenv("HOME");
  if (home && home[0] == '/') return directory_below(home);
  if (const auto listed = home_in_passwd(geteuid())) return directory_below(*listed);
  return Error{ErrorCode::kMisconfigured,
               "no place for the lock files: HOME is not set, and /etc/passwd has no entry for user " +
                   std::to_string(geteuid()),
               kNeedsDirectory};
}

}  // namespace dlock::local
