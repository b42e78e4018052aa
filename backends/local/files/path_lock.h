// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/unique_fd.h"
#include "lib/lock/holder.h"

namespace dlock::local {

/// The file that a KEY beginning with '/' names, under flock(2): what keeps flock(1), setlock and chpst out, and is
/// kept out by them. Never written to, never removed. A directory will do.
class PathLock {
 public:
  PathLock() = default;
  /// Opens as flock(1) does, making the file when it is missing, but not through a symbolic link that leads nowhere:
  /// Misconfigured. So it is on a network file system unless allowed.
  static Result<PathLock> open(const std::string& path, bool allow_network_fs);

  bool valid() const { return fd_.valid(); }
  int fd() const { return fd_.get(); }
  /// LOCK_SH or LOCK_EX for this mode.
  static int operation(Mode mode);
  /// False if another has it.
  Result<bool> try_lock(Mode mode) const;
  void unlock() const;
  const std::string& path() const { return path_; }
  /// True if the path leads to another file by now, or to none.
  bool replaced() const;
  /// Lets go without unlocking: heirs of the descriptor keep the lock.
  void close() { fd_.reset(); }

 private:
  std::string path_;
  UniqueFd fd_;
};

/// One line of /proc/locks about a file.
struct FlockEntry {
  pid_t pid = 0;
  bool exclusive = false;
  bool waiting = false;
};
/// Holders and waiters of flock(2) on the file at `path`, as far as the kernel shows them; none if it does not exist.
std::vector<FlockEntry> flock_users(const std::string& path);
/// Whether flock_users() can show that it is free. Denied if the file may not be looked at, or /proc is not there.
Result<void> can_tell_flock_users(const std::string& path);
/// The same as flock_users() from the text of /proc/locks, for a device and inode as it writes them ("fe:00:1234").
std::vector<FlockEntry> flock_users_in(const std::string& text, const std::string& device_inode);

}  // namespace dlock::local
