// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/session/library_sockets.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <utility>

#include "backends/zookeeper/session/server_text.h"

namespace dlock::zookeeper {
namespace {

constexpr int kMostDescriptors = 1024;  ///< the lowest free number is taken: more are never open
constexpr int kLongestGap = 64;         ///< between two of them

/// The target of an open descriptor; its number is used again once it is closed.
using File = std::pair<dev_t, ino_t>;

/// Calls `visit(descriptor, file)` with each that is open and without close-on-exec.
template <typename Visit>
void for_each_unmarked(Visit visit) {
  int missing = 0;
  for (int fd = 0; fd < kMostDescriptors && missing < kLongestGap; ++fd) {
    const int flags = fcntl(fd, F_GETFD);
    missing = flags < 0 ? missing + 1 : 0;
    struct stat status {};
    if (flags < 0 || (flags & FD_CLOEXEC) != 0 || fstat(fd, &status) != 0) continue;
    if (S_ISSOCK(status.st_mode) || S_ISFIFO(status.st_mode)) visit(fd, File(status.st_dev, status.st_ino));
  }
}

const std::set<File>& inherited() {
  static const std::set<File> at_start = [] {
    std::set<File> files;
    for_each_unmarked([&](int, const File& file) { files.insert(file); });
    return files;
  }();
  return at_start;
}

/// Calls `visit` with each of the library's.
template <typename Visit>
void for_each_of_library(Visit visit) {
  for_each_unmarked([&](int fd, const File& file) {
    if (!inherited().contains(file)) visit(fd);
  });
}

bool is_stream_of_internet(int fd) {
  int domain = 0;
  int type = 0;
  socklen_t size = sizeof domain;
  if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0) return false;
  size = sizeof type;
  if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0) return false;
  return (domain == AF_INET || domain == AF_INET6) && type == SOCK_STREAM;
}

/// Or to none yet.
bool leads_to(int fd, const std::vector<std::string>& servers) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return true;
  const std::string text = server_text(reinterpret_cast<const sockaddr*>(&peer));
  return std::find(servers.begin(), servers.end(), text) != servers.end();
}

}  // namespace

void note_inherited_descriptors() { inherited(); }

bool break_connections(const std::vector<std::string>& servers) {
  bool broken = false;
  for_each_of_library([&](int fd) {
    if (is_stream_of_internet(fd) && leads_to(fd, servers)) broken = shutdown(fd, SHUT_RDWR) == 0 || broken;
  });
  return broken;
}

void close_on_exec() {
  for_each_of_library([](int fd) { fcntl(fd, F_SETFD, FD_CLOEXEC); });
}

}  // namespace dlock::zookeeper
