// SPDX-License-Identifier: Apache-2.0
#include "lib/base/reading.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace dlock {

ssize_t read_waiting(int fd, char* buffer, std::size_t size) {
  while (true) {
    const ssize_t n = read(fd, buffer, size);
    if (n >= 0 || (errno != EINTR && errno != EAGAIN)) return n;
    pollfd input{fd, POLLIN, 0};
    if (errno == EAGAIN) poll(&input, 1, -1);
  }
}

bool is_never_written(int fd) {
  struct stat about {};
  if (fstat(fd, &about) != 0 || !S_ISFIFO(about.st_mode)) return false;
  pollfd input{fd, POLLIN, 0};
  return poll(&input, 1, 0) == 0;
}

}  // namespace dlock
