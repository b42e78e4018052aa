// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pwd.h>

#include <cstdint>
#include <cstdio>
#include <string>

namespace dlock {

// Users as /etc/passwd has them. No name service is asked: a static program has none.

/// Calls `visit` with each entry, until it returns false.
template <typename Visit>
void for_each_user(const Visit& visit) {
  std::FILE* file = std::fopen("/etc/passwd", "re");
  if (!file) return;
  for (const passwd* entry = fgetpwent(file); entry && visit(*entry); entry = fgetpwent(file)) {
  }
  std::fclose(file);
}

/// The name of `uid`, else its digits.
std::string user_name(std::uint32_t uid);

}  // namespace dlock
