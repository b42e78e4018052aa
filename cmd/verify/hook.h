// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "lib/base/result.h"

namespace dlock {

/// Whether a hook that ended with `status` has done its work: nullopt if so. Otherwise what is to be said of it; it is
/// Misconfigured if the shell found nothing to run, and no call of it ever will.
std::optional<Error> hook_failure(const std::string& phase, int status);

/// The user's command that makes the server fail (--hook): one call of it at a time, in a process group of its own.
class Hook {
 public:
  explicit Hook(std::string command) : command_(std::move(command)) {}

  bool is_at_work() const { return pid_ > 0; }
  const std::string& phase() const { return phase_; }  ///< of the last call: "fault-1", which its shell gets as well
  void next_phase() { phase_ = "fault-" + std::to_string(++calls_); }

  /// System if there is no process for it. REQUIRES: none is at work.
  Result<void> call();
  /// What has become of a call that has ended since; nullopt: none has. One that was killed was at work until then.
  std::optional<Result<void>> reap();
  void kill();

 private:
  std::string command_;
  std::string phase_;
  pid_t pid_ = 0;
  int calls_ = 0;
  bool killed_ = false;
};

}  // namespace dlock
