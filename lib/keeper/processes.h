// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/unique_fd.h"
#include "lib/run/descendants.h"

namespace dlock {

/// The processes of this machine, as a keeper looks at them.
class Processes {
 public:
  virtual ~Processes() = default;

  /// A descriptor that is readable once the process has ended; none if it has ended already. An Error if it cannot be
  /// watched.
  virtual Result<UniqueFd> watch(pid_t pid) = 0;

  /// Who `pid` is, if it is the command of our supervisor: its child, or marked with `owner`. {} if it is not.
  virtual ProcessId command(pid_t pid, const std::string& owner) = 0;

  /// remaining_processes() (lib/run/descendants.h).
  virtual std::vector<ProcessId> remaining(const std::vector<ProcessId>& roots, const std::string& owner) = 0;

  virtual void signal(const ProcessId& process, int number) = 0;

  /// Lets go of what was inherited of the supervisor's streams, so that nobody waits for their end.
  virtual void close_streams() = 0;
};

class SystemProcesses final : public Processes {
 public:
  Result<UniqueFd> watch(pid_t pid) override;
  ProcessId command(pid_t pid, const std::string& owner) override;
  std::vector<ProcessId> remaining(const std::vector<ProcessId>& roots, const std::string& owner) override;
  void signal(const ProcessId& process, int number) override;
  void close_streams() override;
};

/// Has the process of this watch() ended? Does not wait.
bool has_ended(const UniqueFd& watch);

}  // namespace dlock
