// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/unique_fd.h"
#include "lib/run/descendants.h"

namespace dlock {

struct FoundProcess {
  ProcessId id;  ///< {}: none
  pid_t session = 0;
};

/// The processes of this machine, as a keeper looks at them.
class Processes {
 public:
  virtual ~Processes() = default;

  /// A pidfd, readable once the process has ended; none if it has ended already. An Error if it cannot be
  /// watched.
  virtual Result<UniqueFd> watch(pid_t pid) = 0;

  /// Whose pidfd that is; {} if it has ended, or if it is something else.
  virtual FoundProcess find(const UniqueFd& pidfd) = 0;

  /// remaining_processes() (lib/run/descendants.h).
  virtual std::vector<ProcessId> remaining(const std::vector<ProcessId>& roots, const CommandMarks& marks) = 0;

  /// False if it lives and may not be signalled.
  virtual bool signal(const ProcessId& process, int number) = 0;

  /// Signals whoever that pidfd is of, also where /proc does not show it; 0 signals nothing. False if it has ended.
  virtual bool signal_by(const UniqueFd& pidfd, int number) = 0;

  /// Lets go of what was inherited of the supervisor's streams, so that nobody waits for their end.
  virtual void close_streams() = 0;
};

class SystemProcesses final : public Processes {
 public:
  Result<UniqueFd> watch(pid_t pid) override;
  FoundProcess find(const UniqueFd& pidfd) override;
  std::vector<ProcessId> remaining(const std::vector<ProcessId>& roots, const CommandMarks& marks) override;
  bool signal(const ProcessId& process, int number) override;
  bool signal_by(const UniqueFd& pidfd, int number) override;
  void close_streams() override;
};

}  // namespace dlock
