// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lib/base/runtime.h"
#include "lib/base/time.h"
#include "lib/base/unique_fd.h"
#include "lib/lock/holder.h"

namespace dlock {

/// Finds out, for `dlock force-release`, what becomes of the holders whose lock is freed. To be made before the lock is
/// freed: a process can be recognised only while it lives. It is known for a dlock that lives on this machine; for
/// every other holder it is not.
class OldHolders {
 public:
  OldHolders(const std::vector<Participant>& holders, const Runtime& runtime);

  /// To be called after the lock was taken from `freed`: a line for each of them, indented, with its newline, that says
  /// whether it has ended ("the old holder has ended: pid 8812 on ci-4"), still runs, may still be running, or is a
  /// lease without a process. Waits up to a second for those that are known and live.
  std::string fate(const std::vector<Participant>& freed) const;

 private:
  struct Known {
    std::string owner;
    UniqueFd process;
  };

  bool any_lives(const std::vector<Participant>& freed) const;
  const UniqueFd* process_of(const Participant& participant) const;

  const Runtime& runtime_;
  std::vector<Known> known_;
};

}  // namespace dlock
