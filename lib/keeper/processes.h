// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "lib/base/process.h"
#include "lib/base/result.h"
#include "lib/base/unique_fd.h"

namespace dlock {

/// The processes of this machine, as a keeper looks at them.
class Processes {
 public:
  virtual ~Processes() = default;

  /// A pidfd, readable once the process has ended; none if it has ended already. An Error if it cannot be
  /// watched.
  virtual Result<UniqueFd> watch(pid_t pid) = 0;

  /// Descendants of the process of `pidfd`: descendants_of() (lib/run/descendants.h). Nullopt where /proc
  /// does not show it.
  virtual std::optional<std::vector<ProcessId>> below(const UniqueFd& pidfd) = 0;

  /// False if it lives and may not be signalled.
  virtual bool signal(const ProcessId& process, int number) = 0;

  /// Signals the process that `pidfd` is of, also where /proc does not show it.
  virtual void signal_by(const UniqueFd& pidfd, int number) = 0;

  /// Closes the inherited streams of the supervisor, so that their readers see an end.
  virtual void close_streams() = 0;
};

/// Invalid: --watch-pid names a process that has ended.
Error no_such_process(pid_t pid);

class SystemProcesses final : public Processes {
 public:
  Result<UniqueFd> watch(pid_t pid) override;
  std::optional<std::vector<ProcessId>> below(const UniqueFd& pidfd) override;
  bool signal(const ProcessId& process, int number) override;
  void signal_by(const UniqueFd& pidfd, int number) override;
  void close_streams() override;
};

}  // namespace dlock
