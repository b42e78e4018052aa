// SPDX-License-Identifier: Apache-2.0
#include "lib/base/user_name.h"

#include <pwd.h>

#include <cstdio>

namespace dlock {

std::string user_name(std::uint32_t uid) {
  std::FILE* file = std::fopen("/etc/passwd", "re");
  std::string name = std::to_string(uid);
  if (!file) return name;
  while (const passwd* entry = fgetpwent(file)) {
    if (entry->pw_uid != uid) continue;
    name = entry->pw_name;
    break;
  }
  std::fclose(file);
  return name;
}

}  // namespace dlock
