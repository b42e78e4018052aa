// SPDX-License-Identifier: Apache-2.0
#include "backends/local/files/path_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string_view>

#include "backends/local/files/lock_dir.h"
#include "lib/base/descriptor_io.h"
#include "lib/base/system_error.h"
#include "lib/base/text.h"

namespace dlock::local {
namespace {

/// The next blank-separated word of `line`, cut off its front; empty at the end.
std::string_view next_word(std::string_view& line) {
  while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

Error dangling(const std::string& path) {
  return {ErrorCode::kMisconfigured, "the lock file " + path + " is a symbolic link to a file that does not exist",
          "create the file that it points to, or remove the link"};
}

}  // namespace

Result<PathLock> PathLock::open(const std::string& path, bool allow_network_fs) {
  constexpr int kFlags = O_RDONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK;
  int fd = ::open(path.c_str(), kFlags);
  // Never made through a symbolic link: who put it there would choose what is made, and where.
  if (fd < 0 && errno == ENOENT) fd = ::open(path.c_str(), kFlags | O_CREAT | O_NOFOLLOW, 0666);
  if (fd < 0 && errno == ELOOP) return dangling(path);
  if (fd < 0) {
    const bool no_folder = errno == ENOENT;
    Error error = system_error("cannot open the lock file " + path, errno);
    if (error.code == ErrorCode::kDenied) error.next = "whose is it? ls -l " + shell_word(path);
    if (no_folder) error.next = "check the spelling; if it is right, make its folder with mkdir -p";
    return error;
  }
  PathLock lock;
  lock.path_ = path;
  lock.fd_ = UniqueFd(fd);
  if (const char* fs = network_file_system(fd); fs && !allow_network_fs) {
    return Error{ErrorCode::kMisconfigured,
                 path + " is on " + fs + ", where flock(2) may not reach other machines, or may be lost",
                 "use a local file, or a server for locks between machines; if you know that its locks work: "
                 "local:?allow-network-fs=1"};
  }
  return lock;
}

int PathLock::operation(Mode mode) { return mode == Mode::kExclusive ? LOCK_EX : LOCK_SH; }

Result<bool> PathLock::try_lock(Mode mode) const {
  while (flock(fd(), operation(mode) | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) return system_error("cannot lock with flock(2)", errno);
  }
  return true;
}

void PathLock::unlock() const { flock(fd(), LOCK_UN); }

bool PathLock::replaced() const {
  struct stat here {};
  struct stat there {};
  if (fstat(fd(), &here) != 0) return errno == ESTALE;
  if (stat(path_.c_str(), &there) != 0) return errno == ENOENT || errno == ENOTDIR;
  return here.st_ino != there.st_ino || here.st_dev != there.st_dev;
}

std::vector<FlockEntry> flock_users_in(const std::string& text, const std::string& device_inode) {
  // "3: FLOCK  ADVISORY  WRITE 7423 fe:00:2099 0 EOF"; whoever waits has "->" before the kind.
  std::vector<FlockEntry> users;
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view line = cut(rest, '\n');
    FlockEntry entry;
    next_word(line);
    std::string_view kind = next_word(line);
    if (kind == "->") {
      entry.waiting = true;
      kind = next_word(line);
    }
    if (kind != "FLOCK") continue;
    next_word(line);
    entry.exclusive = next_word(line) == "WRITE";
    const auto pid = whole_number<pid_t>(next_word(line));
    if (!pid) continue;
    entry.pid = *pid;
    if (next_word(line) == device_inode) users.push_back(entry);
  }
  return users;
}

std::vector<FlockEntry> flock_users(const std::string& path) {
  struct stat st {};
  if (stat(path.c_str(), &st) != 0) return {};
  char wanted[64];
  std::snprintf(wanted, sizeof wanted, "%02x:%02x:%lu", major(st.st_dev), minor(st.st_dev),
                static_cast<unsigned long>(st.st_ino));
  const UniqueFd locks(open("/proc/locks", O_RDONLY | O_CLOEXEC));
  return flock_users_in(read_to_end(locks.get()), wanted);
}

Result<void> can_tell_flock_users(const std::string& path) {
  struct stat st {};
  const bool found = stat(path.c_str(), &st) == 0;
  if (!found && errno != EACCES) return {};  // there is no file that could be locked
  if (found && access("/proc/locks", R_OK) == 0) return {};
  return Error{
      ErrorCode::kDenied,
      "who has " + path + " locked with flock(2) cannot be seen: " + (found ? "/proc/locks: " : "") + errno_text(errno),
      found ? "mount /proc, or look from outside" : "look as a user who may enter its folder"};
}

}  // namespace dlock::local
