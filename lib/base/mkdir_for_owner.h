// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cerrno>
#include <string>

namespace dlock {

/// mkdir(2); the umask takes nothing of the owner's own rights. It is the process's: no other thread makes files
/// meanwhile.
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
