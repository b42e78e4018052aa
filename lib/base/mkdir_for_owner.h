// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cerrno>
#include <string>

namespace dlock {

/// mkdir(2), but the umask does not take away the owner's own rights. REQUIRES: no other thread creates files
/// during this, because the umask is the process's.
inline int mkdir_for_owner(const std::string& path, mode_t mode) {
  const mode_t mask = umask(0);
  umask(mask & 077);
  const int made = mkdir(path.c_str(), mode);
  const int errnum = errno;
  umask(mask);
  errno = errnum;
  return made;
}

}  // namespace dlock
