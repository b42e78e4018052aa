// SPDX-License-Identifier: Apache-2.0
#include "backends/local/files/byte_locks.h"

#include <fcntl.h>

#include <cerrno>
#include <limits>

#include "lib/base/system_error.h"

namespace dlock::local {
namespace {

struct flock describe(short type, const Range& range) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = range.first;
  const bool open_end = range.last == std::numeric_limits<std::int64_t>::max();
  lock.l_len = open_end ? 0 : range.last - range.first + 1;
  return lock;
}

int apply(int fd, int command, short type, const Range& range) {
  struct flock lock = describe(type, range);
  while (fcntl(fd, command, &lock) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

}  // namespace

int try_write_lock(int fd, const Range& range) { return apply(fd, F_OFD_SETLK, F_WRLCK, range); }

int unlock_bytes(int fd, const Range& range) { return apply(fd, F_OFD_SETLK, F_UNLCK, range); }

int unlock_all_bytes(int fd) { return unlock_bytes(fd, {0, std::numeric_limits<std::int64_t>::max()}); }

int wait_for_bytes(int fd, const Range& range) { return apply(fd, F_OFD_SETLKW, F_RDLCK, range); }

Result<std::optional<Range>> find_a_write_lock(int fd, const Range& range) {
  struct flock lock = describe(F_RDLCK, range);
  while (fcntl(fd, F_OFD_GETLK, &lock) != 0) {
    if (errno != EINTR) return system_error("cannot ask who holds the lock", errno);
  }
  if (lock.l_type == F_UNLCK) return std::optional<Range>();
  if (lock.l_len == 0) return std::optional(Range{lock.l_start, std::numeric_limits<std::int64_t>::max()});
  return std::optional(Range{lock.l_start, lock.l_start + lock.l_len - 1});
}

bool any_write_lock(int fd, const Range& range) {
  const auto found = find_a_write_lock(fd, range);
  return !found || found->has_value();
}

Result<std::vector<Range>> find_write_locks(int fd, const Range& range) {
  // The kernel names one conflicting lock, and not the lowest: so look again to its left and to its right.
  std::vector<Range> found;
  std::vector<Range> unseen{range};
  while (!unseen.empty()) {
    const Range here = unseen.back();
    unseen.pop_back();
    TRY_ASSIGN(const auto one, find_a_write_lock(fd, here));
    const std::optional<Range>& lock = one;
    if (!lock) continue;
    // One that begins further to the left has come since we looked there: it belongs to the next look.
    if (lock->first >= here.first) found.push_back(*lock);
    if (lock->first > here.first) unseen.push_back({here.first, lock->first - 1});
    if (lock->last < here.last) unseen.push_back({lock->last + 1, here.last});
  }
  return found;
}

}  // namespace dlock::local
