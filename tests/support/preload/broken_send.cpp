// SPDX-License-Identifier: Apache-2.0
// A connection that ends in the middle of a message, whose length went out by itself: LD_PRELOAD this, and
// BROKEN_SEND=N is the message of each process that is not sent any more.
//
//   g++ -shared -fPIC -o broken_send.so broken_send.cpp
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

extern "C" ssize_t send(int fd, const void* data, size_t size, int flags) {
  static int length_of = -1;  // the socket on which a length went out
  static int messages = 0;
  const bool follows = length_of == fd && size > sizeof(int);
  length_of = size == sizeof(int) ? fd : -1;
  const char* broken = getenv("BROKEN_SEND");
  if (follows && broken != nullptr && ++messages == atoi(broken)) {
    shutdown(fd, SHUT_RDWR);
    errno = ECONNRESET;
    return -1;
  }
  return syscall(SYS_sendto, fd, data, size, flags, nullptr, 0);
}
