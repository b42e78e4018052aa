// SPDX-License-Identifier: Apache-2.0
#include "backends/local/files/file_watch.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace dlock::local {

FileWatch::FileWatch(int file, std::uint32_t events) : inotify_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  add(file, events);
}

void FileWatch::add(int file, std::uint32_t events) {
  char path[40];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  if (inotify_.valid() && inotify_add_watch(inotify_.get(), path, events) < 0) inotify_.reset();
}

void FileWatch::add_place(int file, const std::string& path) {
  add(file, IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF);
  if (!mounts_.valid()) mounts_ = UniqueFd(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
  for (auto slash = path.rfind('/'); slash != 0 && slash != std::string::npos; slash = path.rfind('/', slash - 1)) {
    if (!valid()) return;
    const int watched = inotify_add_watch(inotify_.get(), path.substr(0, slash).c_str(), IN_MOVE_SELF);
    if (watched < 0 && errno != EACCES) inotify_.reset();
  }
}

void FileWatch::add_interest(std::vector<pollfd>& fds) const {
  if (inotify_.valid()) fds.push_back({inotify_.get(), POLLIN, 0});
  if (mounts_.valid()) fds.push_back({mounts_.get(), POLLPRI, 0});
}

bool FileWatch::drain() {
  alignas(inotify_event) char buffer[4096];
  bool any = false;
  while (inotify_.valid() && read(inotify_.get(), buffer, sizeof buffer) > 0) any = true;
  return any;
}

}  // namespace dlock::local
