// SPDX-License-Identifier: Apache-2.0
#include "backends/local/files/file_watch.h"

#include <sys/inotify.h>

#include <cstdio>

namespace dlock::local {

FileWatch::FileWatch(int file, std::uint32_t events) : inotify_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  char path[40];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  if (inotify_.valid() && inotify_add_watch(inotify_.get(), path, events) < 0) inotify_.reset();
}

bool FileWatch::drain() {
  alignas(inotify_event) char buffer[4096];
  bool any = false;
  while (inotify_.valid() && read(inotify_.get(), buffer, sizeof buffer) > 0) any = true;
  return any;
}

}  // namespace dlock::local
