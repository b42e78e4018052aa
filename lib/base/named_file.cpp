// SPDX-License-Identifier: Apache-2.0
#include "lib/base/named_file.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

namespace dlock {
namespace {

constexpr int kMostLinks = 40;  // as the kernel

/// With its last slash; empty: the working directory.
std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

std::string or_here(const std::string& folder) { return folder.empty() ? "." : folder; }

/// /proc/self/fd/1 is a file, whatever its text says.
bool is_in_proc(const std::string& folder) {
  struct statfs about {};
  return statfs(or_here(folder).c_str(), &about) == 0 && about.f_type == PROC_SUPER_MAGIC;
}

bool may_follow(const std::string& link, const std::string& folder) {
  struct stat itself {};
  struct stat around {};
  if (lstat(link.c_str(), &itself) != 0 || stat(or_here(folder).c_str(), &around) != 0) return false;
  const bool shared = (around.st_mode & S_ISVTX) != 0 && (around.st_mode & S_IWOTH) != 0;
  return !shared || itself.st_uid == geteuid() || itself.st_uid == around.st_uid;
}

/// What the link says; empty with errno set.
std::string target_of(const std::string& link, const std::string& folder) {
  char text[PATH_MAX];
  const ssize_t size = readlink(link.c_str(), text, sizeof text);
  if (size <= 0) return {};
  const std::string target(text, static_cast<std::size_t>(size));
  return target.front() == '/' ? target : folder + target;
}

}  // namespace

UniqueFd open_named_file(const std::string& path, int flags) {
  flags |= O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY;
  std::string at = path;
  for (int links = 0; links <= kMostLinks; ++links) {
    UniqueFd file(open(at.c_str(), flags | O_NOFOLLOW, 0666));
    if (file.valid() || errno != ELOOP) return file;
    const std::string folder = folder_of(at);
    if (is_in_proc(folder)) return UniqueFd(open(at.c_str(), flags, 0666));
    if (!may_follow(at, folder)) {
      errno = EACCES;
      return {};
    }
    at = target_of(at, folder);
  }
  errno = ELOOP;
  return {};
}

}  // namespace dlock
