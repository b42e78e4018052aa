// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "lib/base/unique_fd.h"

namespace dlock::local {

/// pidfd_open(2); invalid with errno set if there is no such process.
UniqueFd open_process(pid_t pid);
/// pidfd_send_signal(2).
void signal_process(const UniqueFd& process, int signal);
/// Reaps a child if it has ended; whoever reaped it before us is fine too. `block`: waits for its end.
void reap(const UniqueFd& process, bool block);

/// Closes every descriptor except these. Async-signal-safe.
void close_all_but(std::initializer_list<int> keep);

/// In a child that was just forked by `parent`: dies with it. False if the parent is gone already.
bool die_with(pid_t parent);

/// What /proc knows of a process.
struct ProcessInfo {
  char state = '?';             ///< 'T' is stopped
  std::int64_t started_ns = 0;  ///< on the boot clock, to a clock tick
};
std::optional<ProcessInfo> process_info(pid_t pid);

/// The inode number of our pid namespace: a pid means something only within one. 0 if /proc is missing.
std::uint64_t pid_namespace();

}  // namespace dlock::local
