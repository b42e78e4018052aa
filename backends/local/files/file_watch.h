// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "lib/base/unique_fd.h"

namespace dlock::local {

/// inotify(7) on one open file, found through its descriptor so that a replaced name cannot mislead it. Invalid when
/// the kernel refuses (too many instances or watches): then look again on a timer.
class FileWatch {
 public:
  FileWatch() = default;
  FileWatch(int file, std::uint32_t events);

  /// The directories above `path`, too, as far as we may read them: that one of them gets another name.
  void add_moves_above(const std::string& path);

  bool valid() const { return inotify_.valid(); }
  int fd() const { return inotify_.get(); }
  /// Forgets what has happened so far; true if anything has.
  bool drain();

 private:
  UniqueFd inotify_;
};

}  // namespace dlock::local
