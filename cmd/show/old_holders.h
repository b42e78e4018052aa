// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lib/base/runtime.h"
#include "lib/base/unique_fd.h"
#include "lib/lock/holder.h"

namespace dlock {

/// What has become of those whose lock an operator frees. Made before that, because a process can be recognised only
/// while it lives: one on this machine that is called dlock, and was there already when the lock was granted. Of all
/// others nothing is known.
class OldHolders {
 public:
  OldHolders(const std::vector<Participant>& holders, const Runtime& runtime);

  /// Lines, indented, each with its newline: "the old holder has ended: pid 8812 on ci-4"; "still runs" or "may still
  /// be running" of others. `freed` are those that were. Waits up to a second for who is known to live.
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
