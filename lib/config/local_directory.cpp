// SPDX-License-Identifier: Apache-2.0
#include "lib/config/local_directory.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>

namespace dlock {
namespace {

std::optional<std::string> home_in_passwd(uid_t uid) {
  std::FILE* file = std::fopen("/etc/passwd", "re");
  if (!file) return std::nullopt;
  std::optional<std::string> home;
  while (const passwd* entry = fgetpwent(file)) {
    if (entry->pw_uid != uid) continue;
    if (entry->pw_dir[0] == '/') home = entry->pw_dir;
    break;
  }
  std::fclose(file);
  return home;
}

}  // namespace

std::string local_directory_below(const std::string& home) { return home + "/.local/state/dlock"; }

Result<std::string> default_local_directory() {
  if (geteuid() == 0) return std::string("/var/lib/dlock");
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state && state[0] == '/') return std::string(state) + "/dlock";
  const char* home = std::getenv("HOME");
  if (home && home[0] == '/') return local_directory_below(home);
  if (const auto listed = home_in_passwd(geteuid())) return local_directory_below(*listed);
  return Error{ErrorCode::kMisconfigured,
               "no place for the lock files: HOME is not set, and /etc/passwd has no entry for user " +
                   std::to_string(geteuid()),
               kNeedsLocalDirectory};
}

}  // namespace dlock
