// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/unique_fd.h"

namespace dlock::local {

/// inotify(7) on one open file, found through its descriptor so that a replaced name cannot mislead it. Invalid when
/// the kernel refuses (too many instances or watches): then look again on a timer.
class FileWatch {
 public:
  FileWatch() = default;
  FileWatch(int file, std::uint32_t events);

  /// Whether `path` still leads to this open file can have changed: it was removed or moved, or a directory above it
  /// was, as far as we may read that, or something was mounted.
  void add_place(int file, const std::string& path);

  bool valid() const { return inotify_.valid(); }
  /// A mount is announced once, by poll(2) alone: look after each, also where drain() says that nothing has happened.
  void add_interest(std::vector<pollfd>& fds) const;
  /// Forgets what has happened so far; true if anything has.
  bool drain();

 private:
  void add(int file, std::uint32_t events);

  UniqueFd inotify_;
  UniqueFd mounts_;
};

}  // namespace dlock::local
