// SPDX-License-Identifier: Apache-2.0
#include "lib/base/descriptor_io.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace dlock {
namespace {

/// Longest wait for a reader in arrears. A held lock is not looked after during it.
constexpr int kReaderPatienceMs = 500;

/// False, with EAGAIN, if nothing can be written within `ms`. What is wrong with the descriptor is for write(2) to say.
bool has_room(int fd, int ms) {
  pollfd output{fd, POLLOUT, 0};
  int ready = 0;
  while ((ready = poll(&output, 1, ms)) < 0 && errno == EINTR) {
  }
  if (ready == 0) errno = EAGAIN;
  return ready != 0;
}

/// While it exists, a reader that is gone and a file that may not grow are errors of write(2), and send no signal.
class NoWriteSignals {
 public:
  NoWriteSignals() {
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGPIPE);
    sigaddset(&wanted, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &wanted, &before_);
    sigemptyset(&ours_);
    for (const int number : {SIGPIPE, SIGXFSZ}) {
      if (!sigismember(&before_, number)) sigaddset(&ours_, number);
    }
  }
  ~NoWriteSignals() {
    const int why = errno;
    const timespec at_once{};
    while (sigtimedwait(&ours_, nullptr, &at_once) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = why;
  }
  NoWriteSignals(const NoWriteSignals&) = delete;
  NoWriteSignals& operator=(const NoWriteSignals&) = delete;

 private:
  sigset_t before_{};
  sigset_t ours_{};
};

}  // namespace

ssize_t read_waiting(int fd, char* buffer, std::size_t size) {
  while (true) {
    const ssize_t n = read(fd, buffer, size);
    if (n >= 0 || (errno != EINTR && errno != EAGAIN)) return n;
    pollfd input{fd, POLLIN, 0};
    if (errno == EAGAIN) poll(&input, 1, -1);
  }
}

std::string read_to_end(int fd) {
  std::string text;
  char block[4096];
  ssize_t size = 0;
  while ((size = read(fd, block, sizeof block)) > 0 || (size < 0 && errno == EINTR)) {
    if (size > 0) text.append(block, static_cast<std::size_t>(size));
  }
  return text;
}

bool is_never_written(int fd) {
  struct stat about {};
  if (fstat(fd, &about) != 0 || !S_ISFIFO(about.st_mode)) return false;
  pollfd input{fd, POLLIN, 0};
  return poll(&input, 1, 0) == 0;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

bool write_in_time(int fd, std::string_view text) {
  static int in_arrears = -1;
  const NoWriteSignals errors_only;
  if (fcntl(fd, F_GETFL) & O_NONBLOCK) return write_all(fd, text);  // its maker chose to lose what has no room
  while (!text.empty()) {
    const bool room = has_room(fd, fd == in_arrears ? 0 : kReaderPatienceMs);
    if (!room) in_arrears = fd;
    else if (fd == in_arrears) in_arrears = -1;
    // A pipe with room has room for so much.
    const std::string_view piece = text.substr(0, PIPE_BUF);
    if (!room || !write_all(fd, piece)) return false;
    text.remove_prefix(piece.size());
  }
  return true;
}

}  // namespace dlock
