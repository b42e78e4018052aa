// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/verify/lab.h"
#include "lib/base/unique_fd.h"

namespace dlock {

/// Leaves nothing behind: ends the processes, drops the stock, waits until each key is free, and removes the directory.
/// What is in the store is left alone unless this verify is the one that is at work there (`claimed`). The text is of
/// what is still there; empty: nothing.
std::string clean_up(const Lab& lab, Duration ttl, bool claimed);

/// A process that does the same when this one dies without it. Hears of the death by the end of a pipe.
class Guard {
 public:
  /// Forks. REQUIRES: `lab` is complete.
  static Result<Guard> start(const Lab& lab, Duration ttl);
  /// From now on what is in the store is ours.
  void claim();
  bool claimed() const { return claimed_; }
  /// This process has cleaned up by itself.
  void dismiss();

 private:
  UniqueFd pipe_;
  pid_t pid_ = 0;
  bool claimed_ = false;
};

}  // namespace dlock
