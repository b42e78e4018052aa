// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/verify/sandbox.h"
#include "lib/base/unique_fd.h"

namespace dlock {

/// Ends the processes of the sandbox and removes its directory; if `claimed`, also drops the stock and waits until each
/// key is free. `claimed` is whether this verify has the right to the keys: they may be those of another one. Returns
/// what is still there, in words; empty if nothing is.
std::string clean_up(const Sandbox& sandbox, Duration ttl, bool claimed);

/// A second process that calls clean_up() if this one dies before it has done so itself. It notices the death by the
/// end of a pipe.
class Guard {
 public:
  /// Forks; System if that fails. REQUIRES: `sandbox` is complete.
  static Result<Guard> start(const Sandbox& sandbox, Duration ttl);
  /// This verify has the right to the keys of the store from now on: `claimed` of clean_up().
  void claim();
  bool claimed() const { return claimed_; }
  /// This process has cleaned up: the second one ends and does nothing. Waits for its end.
  void dismiss();

 private:
  UniqueFd pipe_;
  pid_t pid_ = 0;
  bool claimed_ = false;
};

}  // namespace dlock
